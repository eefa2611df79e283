"use strict";
// Small things that every other script uses. Texts of the data become text nodes, never HTML.

/** A new element; attributes by name, `on…` for listeners; children are nodes or texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Three significant digits. */
function threeDigits(x) {
  if (x === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x))));
  return x.toFixed(Math.min(digits, 20));
}

/** A duration of `ns` in the unit that shows three digits. */
function duration(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${threeDigits(ns / 1e3)} us`;
  if (size < 1e9) return `${threeDigits(ns / 1e6)} ms`;
  return `${threeDigits(ns / 1e9)} s`;
}

/** An instant, in seconds with as many decimals as tell apart what is `step` ns apart. */
function instant(ns, step = 1) {
  const decimals = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(1, step)))));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

/** The first round number that is at least `least`: 1, 2 or 5 times a power of ten. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least * (1 - 1e-9));
}

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

/** Calls `f` at most once per frame, however often it is asked. */
function oncePerFrame(f) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      f();
    });
  };
}

/** Everybody who must draw again when colors change. */
const redraws = [];

/** Light or dark: as the system says, until somebody presses the button. */
function startTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = (name) => {
    root.dataset.theme = name;
    redraws.forEach((redraw) => redraw());
  };
  const wanted = () => chosen ?? (system.matches ? "dark" : "light");
  system.addEventListener("change", () => apply(wanted()));
  document.getElementById("theme").addEventListener("click", () => {
    chosen = wanted() === "dark" ? "light" : "dark";
    apply(chosen);
  });
  // Paper is white, and narrower than a window: all is drawn anew for it.
  addEventListener("beforeprint", () => {
    root.dataset.paper = "yes";
    apply("light");
  });
  addEventListener("afterprint", () => {
    delete root.dataset.paper;
    apply(wanted());
  });
  apply(wanted());
}
