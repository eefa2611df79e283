// The state of a timeline as the URL's hash: what is seen can be sent to somebody else.
//
//   #timeline=0&a=0&b=1&from=1200000&to=3400000&row=6&y=120&q=cc1&m=1300000,1500000&sel=0,12,1250000

function writeState(timeline) {
  const parts = { timeline: timeline.chapter.idx, a: timeline.shown[0] };
  if (timeline.shown.length > 1) parts.b = timeline.shown[1];
  parts.from = Math.round(timeline.view.from);
  parts.to = Math.round(timeline.view.to);
  parts.row = timeline.rowHeight;
  if (timeline.signal != null) parts.signal = timeline.signal;
  if (timeline.scroll > 0) parts.y = Math.round(timeline.scroll);
  if (timeline.query) parts.q = encodeURIComponent(timeline.query);
  const marks = timeline.marks.map((t) => (t == null ? "" : Math.round(t)));
  if (marks.some((t) => t !== "")) parts.m = marks.join(",");
  const { selected } = timeline;
  if (selected) parts.sel = [selected.variant, selected.cpu, selected.at].join(",");
  const hash = Object.entries(parts).map(([key, value]) => `${key}=${value}`);
  history.replaceState(null, "", `#${hash.join("&")}`);
}

/** What a hash says of a timeline; null if it is about something else. */
function readState(chapter, hash = location.hash) {
  const parts = new Map(
    hash
      .slice(1)
      .split("&")
      .map((part) => part.split("=")),
  );
  if (parts.get("timeline") !== String(chapter.idx)) return null;
  const number = (key) => (parts.has(key) && parts.get(key) !== "" ? Number(parts.get(key)) : null);
  const list = (key) =>
    parts
      .get(key)
      ?.split(",")
      .map((x) => (x === "" ? null : Number(x))) ?? [];
  const isVariant = (index) => chapter.variants[index]?.recorded != null;
  const state = {
    shown: [number("a"), number("b")].filter((index) => index != null && isVariant(index)),
    from: number("from"),
    to: number("to"),
    rowHeight: number("row"),
    signal: number("signal"),
    scroll: number("y") ?? 0,
    query: parts.has("q") ? decoded(parts.get("q")) : "",
    marks: [list("m")[0] ?? null, list("m")[1] ?? null].map((t) => (Number.isFinite(t) ? t : null)),
    selected: list("sel"),
  };
  const isSpan = Number.isFinite(state.from) && Number.isFinite(state.to) && state.from < state.to;
  return isSpan && state.shown.length > 0 ? state : null;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
