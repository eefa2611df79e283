// Curves, drawn by uPlot: over time, distributions, sweeps.

const CHART_HEIGHT = 240;

/** A chart with a heading that draws itself anew when its width or the colors change. */
function chart(title, options) {
  const frame = make("div", { class: "chart" }, make("h3", {}, title));
  const place = make("div");
  frame.append(place);
  let plot = null;
  const draw = () => {
    const width = Math.floor(frame.clientWidth);
    if (width < 50) return;
    plot?.destroy();
    const { data, ...rest } = options();
    plot = new uPlot({ width, height: CHART_HEIGHT, ...rest }, data, place);
  };
  redraws.push(draw);
  let before = 0;
  new ResizeObserver(() => {
    const width = Math.floor(frame.clientWidth);
    if (Math.abs(width - before) < 2) return;
    before = width;
    // Not within the observer: the new height would be observed at once.
    requestAnimationFrame(draw);
  }).observe(frame);
  return frame;
}

/** Of a logarithmic axis only powers of ten have lines: the others would be a wall. */
function wholePowers(plot, splits, axis) {
  const scale = plot.axes[axis].scale;
  if (plot.scales[scale].distr !== 3) return splits;
  return splits.map((at) => (at != null && Math.abs(Math.log10(at) % 1) < 1e-9 ? at : null));
}

/** An axis in the colors of the page. */
function axis(label, values, more = {}) {
  return {
    label,
    labelFont: "12px system-ui, sans-serif",
    font: "12px system-ui, sans-serif",
    labelSize: 20,
    stroke: css("--dim"),
    grid: { stroke: css("--line"), width: 1, filter: wholePowers },
    ticks: { stroke: css("--line"), width: 1, filter: wholePowers },
    values: values && ((_, ticks) => ticks.map((tick) => (tick == null ? "" : values(tick)))),
    ...more,
  };
}

/** The line of a variant. */
function line(variant, index, more = {}) {
  return {
    label: `${variant.letter} ${variant.name}`,
    stroke: variantColor(index),
    width: 1.75,
    dash: DASHES[index % DASHES.length],
    points: { show: false },
    ...more,
  };
}

/** The recorded variants of a chapter with their places. */
const recordedOf = (chapter) =>
  chapter.variants
    .map((variant, index) => ({ variant, index, run: variant.recorded }))
    .filter((v) => v.run);

/** Busy CPUs, waiting tasks, and CPUs that idle while tasks wait, over simulated time. */
function drawOverTime(place, chapter) {
  const all = recordedOf(chapter);
  const charts = make("div", { class: "charts" });
  const sync = `over-time-${chapter.idx}`;
  const kinds = [
    ["busy", "busy CPUs"],
    ["waiting", "waiting tasks"],
    ["wasted", "CPUs that idle while a task waits"],
  ];
  for (const [field, title] of kinds) {
    charts.append(chart(title, () => overTime(all, field, sync)));
  }
  place.append(charts);
}

function overTime(all, field, sync) {
  const tables = all.map(({ run }) => [
    run[field].map((_, i) => (i * run.bucket_ns) / 1e9),
    run[field],
  ]);
  return {
    data: uPlot.join(tables),
    cursor: { sync: { key: sync } },
    scales: {
      x: { time: false },
      y: { range: (_, low, high) => [0, Math.max(high * 1.05, 0.01)] },
    },
    axes: [axis("simulated time [s]"), axis("", null, { size: 60 })],
    series: [
      { label: "time [s]", value: (_, x) => (x == null ? "-" : x.toFixed(4)) },
      ...all.map(({ variant, index }) =>
        line(variant, index, { spanGaps: true, paths: uPlot.paths.stepped({ align: 1 }) }),
      ),
    ],
  };
}

/** The distribution of wake-up latencies: how many are at most so long, and how many are longer. */
function drawWakeups(place, chapter) {
  const all = recordedOf(chapter).filter(({ run }) => run.wakeups.n > 0);
  if (all.length === 0) return;
  const charts = make("div", { class: "charts" });
  charts.append(
    chart("share of wake-ups that are at most so long", () => distribution(all, false)),
  );
  charts.append(chart("the tail: share that is longer", () => distribution(all, true)));
  place.append(charts);
}

function distribution(all, isTail) {
  const tables = all.map(({ run }) => {
    const { ns, share } = run.wakeups;
    const rest = share.map((part) => (part < 1 ? 1 - part : null));
    return [ns, isTail ? rest : share];
  });
  const percent = (part) => `${Number((part * 100).toPrecision(6))} %`;
  return {
    data: uPlot.join(tables),
    scales: {
      x: { time: false, distr: 3 },
      y: isTail ? { distr: 3 } : { range: [0, 1] },
    },
    axes: [axis("latency (logarithmic)", (ns) => duration(ns)), axis("", percent, { size: 76 })],
    series: [
      { label: "latency", value: (_, ns) => (ns == null ? "-" : duration(ns)) },
      ...all.map(({ variant, index }) =>
        line(variant, index, {
          spanGaps: true,
          paths: uPlot.paths.stepped({ align: 1 }),
          value: (_, part) => (part == null ? "-" : percent(part)),
        }),
      ),
    ],
  };
}

/** A metric along the axis of a sweep. */
function drawSweep(place, chapter) {
  const charts = make("div", { class: "charts" });
  for (const curves of chapter.curves) {
    charts.append(chart(curves.title, () => sweep(chapter, curves)));
  }
  place.append(charts);
}

function sweep(chapter, curves) {
  const x = curves.x ?? curves.labels.map((_, i) => i);
  const spans = (values) => {
    const known = values.filter((v) => v != null);
    return Math.min(...known) > 0 && Math.max(...known) > 10 * Math.min(...known);
  };
  const isLog = curves.x != null && spans(x);
  const everywhere = (_, splits) => splits;
  const series = [{ label: curves.axis, value: (_, at) => curves.labels[x.indexOf(at)] ?? "-" }];
  const data = [x];
  const bands = [];
  curves.lines.forEach((one, index) => {
    const variant = chapter.variants[index];
    const hidden = {
      ...line(variant, index),
      width: 0,
      label: "",
      class: "unlisted",
      value: () => "",
    };
    data.push(one.mean, one.high, one.low);
    series.push(line(variant, index, { points: { show: true, size: 6 } }), hidden, { ...hidden });
    const fill = `rgba(${rgb(variantColor(index))}, 0.15)`;
    bands.push({ series: [series.length - 2, series.length - 1], fill });
    if (one.published.some((v) => v != null)) {
      const points = {
        show: true,
        size: 11,
        width: 2,
        fill: "transparent",
        stroke: variantColor(index),
      };
      data.push(one.published);
      series.push({
        label: `${variant.letter} published`,
        stroke: variantColor(index),
        width: 0,
        points,
      });
    }
  });
  return {
    data,
    bands,
    series,
    legend: { markers: { width: 2 } },
    scales: {
      x: isLog
        ? { time: false, distr: 3, range: (_, low, high) => [low / 1.15, high * 1.15] }
        : { time: false },
      y: spans(data.slice(1).flat()) ? { distr: 3 } : {},
    },
    axes: [
      axis(curves.axis, (at) => curves.labels[x.indexOf(at)] ?? "", {
        splits: () => x,
        filter: everywhere,
        grid: { stroke: css("--line"), width: 1, filter: everywhere },
        ticks: { stroke: css("--line"), width: 1, filter: everywhere },
      }),
      axis(curves.unit, null, { size: 76 }),
    ],
  };
}
