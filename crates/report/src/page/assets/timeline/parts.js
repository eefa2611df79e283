// What a timeline is made of: its bar of buttons, canvases, lines of text and legend.

function buildParts(timeline) {
  const choose = (slot) => {
    const options = timeline.recorded.map(({ variant, index }) =>
      make("option", { value: index }, `${variant.letter} ${variant.name}`),
    );
    if (slot === 1) options.push(make("option", { value: "" }, "nothing"));
    return make("select", { onchange: () => timeline.chosen() }, ...options);
  };
  timeline.choosers = timeline.recorded.length > 1 ? [choose(0), choose(1)] : [choose(0)];
  timeline.search = make("input", {
    type: "search",
    placeholder: "cc1, 412, cc1:412",
    "aria-label": "search a task",
    oninput: () => timeline.find(timeline.search.value),
    onkeydown: (event) => timeline.searchKey(event),
  });
  const button = (text, title, act) =>
    make(
      "button",
      {
        type: "button",
        title,
        "aria-label": title,
        onclick: () => {
          act();
          timeline.changed();
        },
      },
      text,
    );
  timeline.found = make("span", { class: "tl-found" });
  timeline.readout = make("span", { class: "tl-marks" });
  const labels = timeline.choosers.map((select, slot) =>
    make("label", {}, slot ? "below" : "above", select),
  );
  const bar = make(
    "div",
    { class: "tl-bar" },
    ...labels,
    button("−", "zoom out", () => timeline.view.zoom(timeline.center(), 2)),
    button("+", "zoom in", () => timeline.view.zoom(timeline.center(), 0.5)),
    button("whole run", "show the whole run", () => timeline.view.fit()),
    button("rows −", "lower rows", () => timeline.setRowHeight(timeline.rowHeight - 1)),
    button("rows +", "higher rows", () => timeline.setRowHeight(timeline.rowHeight + 1)),
    ...signalChoice(timeline),
    make("label", {}, "find", timeline.search),
    timeline.found,
    timeline.readout,
  );
  timeline.map = make("canvas", {
    class: "tl-map",
    role: "img",
    "aria-label": "the whole run; press to go to a place",
  });
  timeline.canvas = make("canvas", {
    tabindex: 0,
    role: "application",
    class: "tl-canvas",
    "aria-label": "timeline of CPUs; W A S D zoom and pan, arrows move from turn to turn",
  });
  timeline.tip = make("div", { class: "tl-tip", hidden: true });
  timeline.body = make("div", { class: "tl-body" }, timeline.map, timeline.canvas, timeline.tip);
  timeline.status = make("div", { class: "tl-status", role: "status", "aria-live": "polite" });
  timeline.info = make("div", { class: "tl-info" });
  timeline.legend = make("div", { class: "tl-legend" });
  timeline.place.append(
    bar,
    timeline.body,
    timeline.status,
    timeline.info,
    timeline.legend,
    keyHelp(),
  );
  timeline.map.addEventListener("pointerdown", (event) => timeline.mapPressed(event));
  document.addEventListener("click", (event) => timeline.jumped(event));
}

/** Which average is drawn, if any is recorded. */
function signalChoice(timeline) {
  const names = timeline.signalNames;
  if (names.length === 0) return [];
  const options = names.map((name, at) => make("option", { value: at }, name));
  const chosen = () => {
    const { value } = timeline.signalChooser;
    timeline.setSignal(value === "" ? null : Number(value));
    timeline.changed();
  };
  timeline.signalChooser = make(
    "select",
    { onchange: chosen, class: "tl-signal" },
    make("option", { value: "" }, "none"),
    ...options,
  );
  return [make("label", {}, "line", timeline.signalChooser)];
}

/** The legend, and whether all turns are there. */
function describe(timeline) {
  const dark = document.documentElement.dataset.theme === "dark";
  const key = (color, text) => make("span", {}, make("i", { style: `background: ${color}` }), text);
  const colors = dark ? COMMAND_COLORS.dark : COMMAND_COLORS.light;
  const items = timeline.frequent.map((comm, rank) => key(colors[rank], comm));
  if (timeline.hasOthers) items.push(key("rgb(130 130 130)", "other commands"));
  items.push(
    key(css("--raised"), "idle"),
    key(css("--wait"), "below a row: a task waits for this CPU"),
  );
  if (timeline.signal != null) {
    const name = timeline.signalNames[timeline.signal];
    const full = timeline.fullSignal().toLocaleString("en-US");
    items.push(key(css("--ink"), `line: ${name}, from 0 to ${full} or more at the row's upper edge`));
  }
  items.push(make("span", {}, "many turns in one column:"), (timeline.bar ??= colorBar(grays)));
  timeline.legend.replaceChildren(...items);
  const parts = timeline.recorded.filter(
    ({ run }) => run.is_full || run.from_ns > 0 || run.to_ns < run.end_ns,
  );
  for (const { variant, run } of parts) {
    const n = run.n_slices.reduce((sum, one) => sum + one, 0);
    const [from, to, end] = [run.from_ns, run.to_ns, run.end_ns].map((t) => instant(t, 1e5));
    const text =
      `${variant.letter}: single turns are kept from ${from} to ${to} of ${end} ` +
      `(${n.toLocaleString("en-US")} turns); before and after only the share of time is known.`;
    timeline.legend.append(make("div", { style: "flex-basis: 100%" }, text));
  }
}
