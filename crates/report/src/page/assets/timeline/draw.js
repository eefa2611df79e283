// Draws a timeline onto its canvases. The pixels of rows come from `paint.js`; here are the places,
// the words and the lines.

// Heights and widths of what is around the rows.
const AXIS = 36;
const PANE_HEAD = 20;
const STRIP = 26;
const GUTTER = 74;

/** Draws everything: the axis, a pane per run, the cursor and the markers, the map of the run. */
function drawFrame(timeline) {
  const { rows, shown } = timeline;
  const width = timeline.body.clientWidth;
  const total = rows.layOut(timeline.rowHeight);
  const chrome = AXIS + shown.length * (PANE_HEAD + STRIP + 4);
  const most = Math.max(320, Math.round(innerHeight * 0.8));
  timeline.height = Math.min(chrome + shown.length * total, most);
  timeline.scroll = clamp(timeline.scroll, 0, Math.max(0, total - timeline.paneRowsHeight));
  const context = sized(timeline.canvas, width, timeline.height);
  shown.forEach((index, pane) => drawPane(timeline, context, index, pane));
  drawAxis(timeline, context);
  drawLines(timeline, context);
  drawMap(timeline, width);
}

/** A canvas of that size, cleared, in units of the page. */
function sized(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) {
    [canvas.width, canvas.height] = [w, h];
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = css("--ground");
  context.fillRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

function drawPane(timeline, context, index, pane) {
  const variant = timeline.chapter.variants[index];
  const y = AXIS + pane * timeline.paneHeight;
  context.fillStyle = variantColor(index);
  context.fillRect(0, y, 4, timeline.paneHeight - 4);
  context.textAlign = "left";
  context.font = "600 12.5px system-ui, sans-serif";
  context.fillText(`${variant.letter} ${variant.name}`, 10, y + PANE_HEAD / 2);
  context.font = "12px system-ui, sans-serif";
  drawStrip(timeline, context, index, y + PANE_HEAD);
  drawRows(timeline, context, index, pane);
  drawGutter(timeline, context, pane);
}

/** CPUs that idle while a task waits, on average over the time of each column. */
function drawStrip(timeline, context, index, y) {
  const run = timeline.chapter.variants[index].recorded;
  const height = STRIP - 8;
  // One scale for both runs.
  const most = Math.max(0.001, ...timeline.shown.map((shown) => peakOf(timeline, shown)));
  context.fillStyle = css("--dim");
  context.textAlign = "right";
  context.font = "10.5px system-ui, sans-serif";
  context.fillText("idle while", GUTTER - 6, y + 5);
  context.fillText("task waits", GUTTER - 6, y + 16);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = css("--wait");
  const perPixel = timeline.view.span / timeline.plotWidth;
  for (let x = 0; x < timeline.plotWidth; x++) {
    const first = Math.max(0, Math.floor((timeline.view.from + x * perPixel) / run.bucket_ns));
    const last = Math.max(
      first,
      Math.ceil((timeline.view.from + (x + 1) * perPixel) / run.bucket_ns) - 1,
    );
    let peak = 0;
    for (let b = first; b <= last && b < run.wasted.length; b++)
      peak = Math.max(peak, run.wasted[b]);
    const bar = (peak / most) * height;
    if (bar > 0) context.fillRect(GUTTER + x, y + height - bar, 1, bar);
  }
  context.fillStyle = css("--dim");
  context.textAlign = "right";
  context.fillText(
    `full height: ${threeDigits(most)} CPUs, largest in the column`,
    GUTTER + timeline.plotWidth - 4,
    y - PANE_HEAD / 2,
  );
  context.fillStyle = css("--line");
  context.fillRect(GUTTER, y + height, timeline.plotWidth, 1);
}

function peakOf(timeline, index) {
  timeline.peaks ??= new Map();
  if (!timeline.peaks.has(index))
    timeline.peaks.set(
      index,
      timeline.chapter.variants[index].recorded.wasted.reduce((a, b) => Math.max(a, b), 0),
    );
  return timeline.peaks.get(index);
}

/** Pixels of all rows of a pane, and of one row: empty ones, used again as long as they fit. */
function rowsImage(timeline, context, width, height) {
  const known = timeline.rowsImage;
  if (known?.image.width === width && known.image.height === height) {
    known.pixels.fill(0);
    return known;
  }
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  timeline.rowsImage = { image, pixels, line: new Uint32Array(width) };
  return timeline.rowsImage;
}

function drawRows(timeline, context, index, pane) {
  const scale = devicePixelRatio || 1;
  const turns = timeline.loaded.get(index);
  const [width, height] = [
    Math.round(timeline.plotWidth * scale),
    Math.round(timeline.paneRowsHeight * scale),
  ];
  if (width < 1 || height < 1) return;
  const { image, pixels, line } = rowsImage(timeline, context, width, height);
  const palette = timeline.palette.get(index);
  const perPixel = timeline.view.span / width;
  const isSearching = timeline.query !== "" || timeline.selected != null;
  const matches = isSearching ? timeline.matching().get(index).sums : null;
  const withWaits = timeline.rowHeight >= 5;
  for (const cpu of timeline.rows.cpus) {
    const top = Math.round((timeline.rows.topOf(cpu) - timeline.scroll) * scale);
    const bottom = Math.round(
      (timeline.rows.topOf(cpu) + timeline.rowHeight - timeline.scroll) * scale,
    );
    if (bottom <= 0 || top >= height) continue;
    paintRow(line, turns, cpu, timeline.view.from, perPixel, palette, matches);
    const space = timeline.rowHeight >= 4 ? Math.round(scale) : 0;
    for (let y = Math.max(0, top); y < Math.min(height, bottom - space); y++)
      pixels.set(line, y * width);
    if (!withWaits) continue;
    const waits = Math.max(2, Math.round(timeline.rowHeight * 0.2 * scale));
    paintWaits(
      pixels,
      width,
      height,
      { bottom: bottom - space, waits },
      turns,
      cpu,
      timeline.view.from,
      perPixel,
      palette,
    );
  }
  context.putImageData(
    image,
    Math.round(GUTTER * scale),
    Math.round(timeline.rowsTop(pane) * scale),
  );
  if (timeline.rowHeight >= 12) drawNames(timeline, context, turns, pane);
  if (timeline.signal != null && timeline.rowHeight >= SIGNAL_ROW)
    drawSignal(timeline, context, turns, pane);
}

/** A row of this height has room for a line. */
const SIGNAL_ROW = 6;

/** A line through each row: the mean of an average over each two pixels. */
function drawSignal(timeline, context, turns, pane) {
  const signal = turns.signals[timeline.signal];
  if (!signal) return;
  const { view, rows, rowHeight, plotWidth } = timeline;
  const [top, height, full] = [timeline.rowsTop(pane), timeline.paneRowsHeight, timeline.fullSignal()];
  const per = view.span / plotWidth;
  context.save();
  context.beginPath();
  context.rect(GUTTER, top, plotWidth, height);
  context.clip();
  context.beginPath();
  for (const cpu of rows.cpus) {
    const y = rows.topOf(cpu) - timeline.scroll;
    if (y < -rowHeight || y > height) continue;
    for (let [x, begun] = [0, false]; x < plotWidth; x += 2) {
      const t0 = Math.max(0, view.from + x * per);
      const t1 = Math.min(turns.run.end_ns, view.from + (x + 2) * per);
      if (t0 >= t1) continue;
      const part = Math.min(1, turns.signalBetween(signal, cpu, t0, t1) / full);
      const at = top + y + (rowHeight - 1.5) * (1 - part) + 0.5;
      if (begun) context.lineTo(GUTTER + x, at);
      else context.moveTo(GUTTER + x, at);
      begun = true;
    }
  }
  // A margin sets the line off from the turns.
  for (const [color, width] of [
    ["--ground", 3.5],
    ["--ink", 1.3],
  ]) {
    context.strokeStyle = css(color);
    context.lineWidth = width;
    context.stroke();
  }
  context.restore();
}

/** Names in turns that have room for them. */
function drawNames(timeline, context, turns, pane) {
  const [top, height] = [timeline.rowsTop(pane), timeline.paneRowsHeight];
  context.save();
  context.beginPath();
  context.rect(GUTTER, top, timeline.plotWidth, height);
  context.clip();
  const isDimmed = timeline.query !== "" || timeline.selected != null;
  context.fillStyle = isDimmed ? css("--dim") : "#fff";
  context.font = `${clamp(timeline.rowHeight - 5, 8, 12)}px system-ui, sans-serif`;
  context.textAlign = "left";
  const least = (42 / timeline.plotWidth) * timeline.view.span;
  for (const cpu of timeline.rows.cpus) {
    const y = timeline.rows.topOf(cpu) - timeline.scroll + timeline.rowHeight / 2;
    if (y < -timeline.rowHeight || y > height + timeline.rowHeight) continue;
    const last = turns.begin[cpu + 1];
    for (
      let i = turns.firstAfter(cpu, timeline.view.from);
      i < last && turns.at[i] < timeline.view.to;
    ) {
      if (turns.end[i] - turns.at[i] < least) {
        // Many short turns in a row: none has room.
        i = Math.max(i + 1, turns.firstAfter(cpu, turns.at[i] + least / 2, i));
        continue;
      }
      const x0 = Math.max(GUTTER, timeline.xOf(turns.at[i]));
      const x1 = Math.min(GUTTER + timeline.plotWidth, timeline.xOf(turns.end[i]));
      const name = turns.name(turns.task[i]);
      const fits = Math.floor((x1 - x0 - 6) / 6.2);
      if (fits >= 3)
        context.fillText(
          name.length <= fits ? name : `${name.slice(0, fits - 1)}…`,
          x0 + 3,
          top + y,
        );
      i += 1;
    }
  }
  context.restore();
}

function drawGutter(timeline, context, pane) {
  const [top, height] = [timeline.rowsTop(pane), timeline.paneRowsHeight];
  context.save();
  context.beginPath();
  context.rect(4, top, GUTTER - 4, height);
  context.clip();
  context.textAlign = "left";
  const inView = (y, bottom) => bottom - timeline.scroll > 0 && y - timeline.scroll < height;
  let lastLabel = -Infinity;
  for (const { node, llc, top: y, bottom } of timeline.rows
    .llcs()
    .filter((l) => inView(l.top, l.bottom))) {
    const middle =
      top + (Math.max(y - timeline.scroll, 0) + Math.min(bottom - timeline.scroll, height)) / 2;
    context.fillStyle = css("--line");
    context.fillRect(GUTTER - 4, top + y - timeline.scroll, 2, bottom - y - 1);
    if (middle - lastLabel < 12) continue;
    lastLabel = middle;
    context.fillStyle = css("--dim");
    context.fillText(timeline.rowHeight >= 11 ? `L${llc}` : `LLC ${llc}`, 9, middle);
    if (bottom - y > 40 && timeline.rowHeight < 11)
      context.fillText(`node ${node}`, 9, middle + 14);
  }
  if (timeline.rowHeight >= 11) {
    context.textAlign = "right";
    context.fillStyle = css("--ink");
    for (const cpu of timeline.rows.cpus) {
      const y = timeline.rows.topOf(cpu) - timeline.scroll;
      if (inView(y + timeline.scroll, y + timeline.scroll + timeline.rowHeight))
        context.fillText(`${cpu}`, GUTTER - 9, top + y + timeline.rowHeight / 2);
    }
  }
  context.restore();
  if (timeline.rows.total > height) {
    context.fillStyle = css("--dim");
    const size = Math.max(20, (height * height) / timeline.rows.total);
    const at = (timeline.scroll / (timeline.rows.total - height)) * (height - size);
    context.fillRect(GUTTER + timeline.plotWidth - 5, top + at, 4, size);
  }
}

function drawAxis(timeline, context) {
  const { view } = timeline;
  const step = roundStep((view.span / timeline.plotWidth) * 110);
  context.textAlign = "center";
  for (
    let n = Math.ceil(Math.max(0, view.from) / step);
    n * step <= Math.min(view.to, timeline.end);
    n++
  ) {
    const x = timeline.xOf(n * step);
    context.fillStyle = css("--dim");
    context.fillRect(x, AXIS - 6, 1, 6);
    if (x > GUTTER + 30 && x < GUTTER + timeline.plotWidth - 30)
      context.fillText(instant(n * step, step), x, AXIS - 14);
  }
}

/** The cursor and the markers, through both panes. */
function drawLines(timeline, context) {
  const draw = (t, color, label) => {
    const x = timeline.xOf(t);
    if (x < GUTTER || x > GUTTER + timeline.plotWidth) return;
    context.fillStyle = color;
    context.fillRect(Math.round(x), label ? 0 : AXIS - 6, 1, timeline.height);
    if (!label) return;
    context.textAlign = "left";
    context.fillRect(x, 0, 14, 14);
    context.fillStyle = css("--ground");
    context.fillText(label, x + 4, 7);
  };
  timeline.marks.forEach((t, which) => t != null && draw(t, css("--mark"), String(which + 1)));
  if (!timeline.cursor) return;
  draw(timeline.cursor.t, css("--ink"));
  const { pane, cpu } = timeline.cursor;
  if (cpu == null) return;
  context.strokeStyle = css("--ink");
  const y = timeline.rowsTop(pane) + timeline.rows.topOf(cpu) - timeline.scroll;
  context.strokeRect(GUTTER + 0.5, y - 0.5, timeline.plotWidth - 1, timeline.rowHeight + 1);
}

/** The whole run: busy CPUs over time, and which part is seen. */
function drawMap(timeline, width) {
  const height = 36;
  const context = sized(timeline.map, width, height);
  const per = timeline.end / timeline.plotWidth;
  timeline.shown.forEach((index) => {
    const run = timeline.chapter.variants[index].recorded;
    context.strokeStyle = variantColor(index);
    context.setLineDash(DASHES[index % DASHES.length]);
    context.beginPath();
    for (let x = 0; x < timeline.plotWidth && x * per < run.end_ns; x++) {
      const bucket = Math.min(run.busy.length - 1, Math.floor((x * per) / run.bucket_ns));
      context.lineTo(
        GUTTER + x,
        height - 3 - (run.busy[bucket] / timeline.chapter.cpus.length) * (height - 8),
      );
    }
    context.stroke();
  });
  context.setLineDash([]);
  context.fillStyle = css("--dim");
  context.textAlign = "right";
  context.fillText("busy CPUs", GUTTER - 6, height / 2);
  const [from, to] = [timeline.view.from, timeline.view.to].map(
    (t) => GUTTER + (t / timeline.end) * timeline.plotWidth,
  );
  context.fillStyle = css("--link");
  context.globalAlpha = 0.18;
  context.fillRect(from, 0, Math.max(2, to - from), height);
  context.globalAlpha = 1;
  context.fillRect(from, 0, 1, height);
  context.fillRect(Math.max(from + 2, to) - 1, 0, 1, height);
}
