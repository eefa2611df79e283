// Colors, which all come from the style sheet, and how they are mixed.

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** [red, green, blue] of a color like #0072b2. */
function rgb(hex) {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

const mixed = (a, b, part) => a.map((x, i) => Math.round(x + (b[i] - x) * part));

/** As a pixel of an ImageData that is written in 32-bit steps. */
const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** 256 colors from nothing to all, in equal steps between those of the style sheet. */
function ramp() {
  const stops = [0, 1, 2, 3, 4].map((i) => rgb(css(`--ramp${i}`)));
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * 4;
    const low = Math.min(3, Math.floor(at));
    return mixed(stops[low], stops[low + 1], at - low);
  });
}

/** 256 grays from idle to busy: beside the colors of commands, which mean something else. */
function grays() {
  const [idle, busy] = [rgb(css("--raised")), rgb(css("--busy"))];
  return Array.from({ length: 256 }, (_, i) => mixed(idle, busy, i / 255));
}

const variantColor = (index) => css(`--v${index % 8}`);

/** Dashes of a variant's line: what is told by color is told by these, too. */
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 2], [1, 2], [14, 4], [6, 2, 2, 2, 2, 2]];

/** Colors of commands, the most frequent first: light ground, dark ground. */
const COMMAND_COLORS = {
  light: ["#4c9bd1", "#e8853a", "#46b08c", "#d884b4", "#c9a227", "#8f7fc9", "#c0655c", "#7a9a3a"],
  dark: ["#3f8fc9", "#d9762b", "#35a37d", "#c973a5", "#bd9618", "#8272c2", "#b85a51", "#6c8c2e"],
};

/** A bar that tells what the colors of a ramp mean. */
function colorBar(colors = ramp) {
  const canvas = make("canvas", {
    width: 256,
    height: 12,
    role: "img",
    "aria-label": "colors from 0 % to 100 % busy",
  });
  const draw = () => {
    const context = canvas.getContext("2d");
    colors().forEach((color, i) => {
      context.fillStyle = `rgb(${color})`;
      context.fillRect(i, 0, 1, 12);
    });
  };
  redraws.push(draw);
  draw();
  const numbers = ["0 %", "25 %", "50 %", "75 %", "100 % busy"].map((text) =>
    make("span", {}, text),
  );
  return make("div", { class: "colorbar" }, canvas, make("div", { class: "ticks" }, ...numbers));
}
