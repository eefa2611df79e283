// CPU use over time as a map: a row per LLC, one map per variant, all on one axis of time.

async function drawHeat(place, chapter, turnsOf) {
  const llcs = groupBy(chapter.cpus, 2);
  const end = Math.max(...recordedOf(chapter).map(({ run }) => run.end_ns));
  for (const { variant, index, run } of recordedOf(chapter)) {
    const turns = await turnsOf(index);
    const canvas = make("canvas", {
      role: "img",
      "aria-label": `CPU use of ${llcs.length} LLCs over time, ${variant.name}`,
    });
    place.append(
      make("figure", {}, make("figcaption", {}, `${variant.letter} ${variant.name}`), canvas),
    );
    const draw = () => heatMap(canvas, llcs, turns, run, end);
    redraws.push(draw);
    new ResizeObserver(() => requestAnimationFrame(draw)).observe(place);
  }
  place.append(colorBar());
}

/** The CPUs by a column of their places: socket, node, LLC, core. */
function groupBy(cpus, column) {
  const groups = [];
  cpus.forEach((place, cpu) => (groups[place[column]] ??= []).push(cpu));
  return groups;
}

function heatMap(canvas, llcs, turns, run, end) {
  const [left, bottom] = [64, 26];
  const rowHeight = clamp(Math.floor(220 / llcs.length), 3, 20);
  const scale = Math.max(1, devicePixelRatio);
  const fullWidth = canvas.parentElement.clientWidth;
  if (fullWidth < 2 * left) return;
  const height = llcs.length * rowHeight + bottom;
  canvas.width = Math.round(fullWidth * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const colors = ramp();
  const width = fullWidth - left - 20;
  const image = context.createImageData(Math.round(width * scale), 1);
  const pixels = new Uint32Array(image.data.buffer);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const every = Math.ceil(13 / rowHeight);
  llcs.forEach((cpus, llc) => {
    const perPixel = end / pixels.length;
    for (let x = 0; x < pixels.length; x++) {
      const [from, to] = [x * perPixel, Math.min((x + 1) * perPixel, run.end_ns)];
      const busy =
        from < to ? cpus.reduce((sum, cpu) => sum + turns.useBetween(cpu, from, to), 0) : 0;
      const share = from < to ? busy / (to - from) / cpus.length : null;
      pixels[x] = share == null ? 0 : pixel(colors[Math.round(clamp(share, 0, 1) * 255)]);
    }
    for (let y = 0; y < rowHeight * scale; y++) {
      context.putImageData(image, left * scale, llc * rowHeight * scale + y);
    }
    if (llc % every === 0) {
      context.fillStyle = css("--ink");
      context.textAlign = "right";
      context.fillText(`LLC ${llc}`, left - 8, (llc + 0.5) * rowHeight);
    }
  });
  timeTicks(context, end, width, (x) => left + x, llcs.length * rowHeight);
}

function timeTicks(context, end, width, place, y) {
  const step = roundStep(end / 8);
  context.textBaseline = "top";
  context.fillStyle = context.strokeStyle = css("--dim");
  for (let at = 0; at <= end; at += step) {
    const x = place((at / end) * width);
    context.fillRect(x, y, 1, 4);
    context.textAlign = at === 0 ? "left" : x > width ? "right" : "center";
    context.fillText(instant(at, step), x, y + 7);
  }
}
