// Keyboard and pointer. Each key is a row of a table, which is its help, too.

const KEYS = [
  [
    "W S",
    "zoom in and out at the cursor (also the wheel, once the timeline has the focus; + and -)",
  ],
  ["A D", "earlier and later (also dragging)"],
  ["← →", "the turn before and after on the cursor's CPU"],
  ["↑ ↓", "the CPU above and below"],
  ["Enter", "select the task under the cursor: all its turns stand out (also a click)"],
  ["P N", "the selected or found task's turn before and after"],
  ["1 2", "set a marker at the cursor; 0 removes both"],
  ["[ ]", "lower and higher rows; Page Up and Page Down scroll (also Shift and the wheel)"],
  ["U", "the next average as a line in the rows (of a page with --signals)"],
  ["/", "search a task by command, pid, or both (cc1:412)"],
  ["Home", "the whole run; Z: the selected turn"],
  ["Esc", "selects nothing, searches nothing"],
];

function keyHelp() {
  const list = make("dl");
  KEYS.forEach(([keys, what]) => list.append(make("dt", {}, keys), make("dd", {}, what)));
  return make("details", { class: "tl-help" }, make("summary", {}, "Keys"), list);
}

/** What a key does; answers with false if it does nothing. */
function pressed(timeline, event) {
  const { view, cursor } = timeline;
  const center = cursor?.t ?? (view.from + view.to) / 2;
  switch (event.key) {
    case "w":
    case "W":
    case "+":
    case "=":
      return view.zoom(center, 1 / 1.4);
    case "s":
    case "S":
    case "-":
      return view.zoom(center, 1.4);
    case "a":
    case "A":
      return view.pan(-0.15);
    case "d":
    case "D":
      return view.pan(0.15);
    case "ArrowLeft":
      return timeline.step(-1);
    case "ArrowRight":
      return timeline.step(1);
    case "ArrowUp":
      return timeline.stepCpu(-1);
    case "ArrowDown":
      return timeline.stepCpu(1);
    case "Enter":
    case " ":
      return timeline.selectAtCursor();
    case "n":
    case "N":
      return timeline.jumpToTask(true);
    case "p":
    case "P":
      return timeline.jumpToTask(false);
    case "1":
    case "2":
      return timeline.mark(Number(event.key) - 1, center);
    case "0":
      return timeline.unmark();
    case "u":
    case "U":
      return timeline.nextSignal();
    case "[":
      return timeline.setRowHeight(timeline.rowHeight - 1);
    case "]":
      return timeline.setRowHeight(timeline.rowHeight + 1);
    case "PageUp":
      return timeline.scrollBy(-0.8 * timeline.paneRowsHeight);
    case "PageDown":
      return timeline.scrollBy(0.8 * timeline.paneRowsHeight);
    case "Home":
      return view.fit();
    case "z":
    case "Z":
      return timeline.showSelected();
    case "/":
      return timeline.search.focus();
    case "Escape":
      return timeline.clear();
    default:
      return false;
  }
}

function listen(timeline) {
  const { canvas } = timeline;
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (pressed(timeline, event) === false) return;
    event.preventDefault();
    timeline.changed();
  });
  canvas.addEventListener("wheel", (event) => turned(timeline, event), { passive: false });
  canvas.addEventListener("dblclick", (event) => {
    timeline.view.zoom(timeline.timeAt(event.offsetX), 1 / 3);
    timeline.changed();
  });
  canvas.addEventListener("pointerleave", () => timeline.hideTip());
  canvas.addEventListener("pointerdown", (event) => drag(timeline, event));
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) timeline.hover(event.offsetX, event.offsetY);
  });
}

/** The wheel scrolls the page until the timeline has the focus: nobody gets caught in passing. */
function turned(timeline, event) {
  if (document.activeElement !== timeline.canvas && !event.ctrlKey) return;
  event.preventDefault();
  if (event.shiftKey) timeline.scrollBy(event.deltaY || event.deltaX);
  else if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
    timeline.view.pan(event.deltaX / timeline.plotWidth);
  else timeline.view.zoom(timeline.timeAt(event.offsetX), 1.0015 ** clamp(event.deltaY, -400, 400));
  timeline.changed();
}

/** Dragging moves what is seen; a press without a move selects. */
function drag(timeline, event) {
  if (event.button !== 0) return;
  const { canvas, view } = timeline;
  canvas.focus({ preventScroll: true });
  canvas.setPointerCapture(event.pointerId);
  let [x, y, moved] = [event.offsetX, event.offsetY, 0];
  const move = (now) => {
    moved += Math.abs(now.offsetX - x) + Math.abs(now.offsetY - y);
    if (moved < 4) return;
    view.pan((x - now.offsetX) / timeline.plotWidth);
    timeline.scrollBy(y - now.offsetY);
    [x, y] = [now.offsetX, now.offsetY];
    timeline.hideTip();
    timeline.changed();
  };
  const end = (now) => {
    canvas.removeEventListener("pointermove", move);
    if (moved >= 4) return;
    timeline.hover(now.offsetX, now.offsetY);
    timeline.selectAtCursor();
    timeline.changed();
  };
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", end, { once: true });
  canvas.addEventListener("pointercancel", () => canvas.removeEventListener("pointermove", move), {
    once: true,
  });
}
