// Pixels of rows. A column of pixels that one turn fills has the color of its command. A column
// with several turns tells how long they take together: exactly, whatever their number.

/** More turns in a column than this are shown by their share alone. */
const TURNS_TOLD = 3;
/** A turn of at least so many pixels shows where it begins. */
const EDGE_FROM = 5;
/** How much of the ground is mixed into a command's color. */
const SHADES = [0, 0.22, 0.1, 0.32];

/** What a painter needs to know of colors; made anew when these change. */
class Palette {
  constructor(comms) {
    const dark = document.documentElement.dataset.theme === "dark";
    this.ground = rgb(css("--ground"));
    this.idle = rgb(css("--raised"));
    this.ramp = Uint32Array.from(grays(), pixel);
    this.unknown = pixel(mixed(this.idle, rgb(css("--line")), 0.6));
    this.wait = pixel(rgb(css("--wait")));
    // Tasks of one command differ in shade, so that one ends visibly where the next begins.
    this.shades = comms.map((color) =>
      SHADES.map((part) => mixed(color[dark ? 1 : 0], this.ground, part)),
    );
    this.dimmed = comms.map((color) => mixed(color[dark ? 1 : 0], this.ground, 0.72));
    /** Pixels by color and share of the column, made when they are first needed: a frame has
     * hundreds of thousands of them. */
    this.pixels = new Map();
    this.dimRamp = Uint32Array.from(grays(), (color) => pixel(mixed(color, this.ground, 0.72)));
    this.found = pixel(rgb(css("--mark")));
    this.idlePixel = pixel(this.idle);
  }

  /** The color of a task that fills a part of a column. */
  task(turns, task, part, isDimmed) {
    const comm = turns.commOf[task];
    const shade = isDimmed ? SHADES.length : turns.pid[task] % SHADES.length;
    const key = comm * (SHADES.length + 1) + shade;
    const pixels = this.pixels.get(key) ?? this.#make(key, comm, shade);
    return pixels[Math.round(part * 255)];
  }

  #make(key, comm, shade) {
    const color = shade === SHADES.length ? this.dimmed[comm] : this.shades[comm][shade];
    const made = (_, i) => pixel(mixed(this.idle, color, 0.25 + (0.75 * i) / 255));
    const pixels = Uint32Array.from({ length: 256 }, made);
    this.pixels.set(key, pixels);
    return pixels;
  }
}

/** Paints one CPU into `line`, a pixel per element. `matches`: matching turns before each. */
function paintRow(line, turns, cpu, from, perPixel, palette, matches) {
  const { at, end, before, task, run } = turns;
  const last = turns.begin[cpu + 1];
  let i = turns.firstAfter(cpu, from);
  for (let x = 0; x < line.length; x++) {
    const t0 = from + x * perPixel;
    const t1 = t0 + perPixel;
    if (t1 <= 0 || t0 >= run.end_ns) {
      line[x] = palette.unknown;
      continue;
    }
    if (t0 < run.from_ns || t1 > run.to_ns) {
      line[x] = paintUse(turns, cpu, t0, t1, palette, matches);
      continue;
    }
    while (i < last && end[i] <= t0)
      i = end[i] + perPixel > t0 ? i + 1 : turns.firstAfter(cpu, t0, i);
    if (i >= last || at[i] >= t1) {
      line[x] = palette.idlePixel;
      continue;
    }
    if (at[i] <= t0 && end[i] >= t1) {
      line[x] = palette.task(turns, task[i], 1, matches && matches[i + 1] === matches[i]);
      if (matches && matches[i + 1] > matches[i]) line[x] = palette.found;
      continue;
    }
    const next = turns.firstFrom(cpu, t1, i);
    const upTo = before[next - 1] + Math.min(end[next - 1], t1) - at[next - 1];
    const busy = upTo - before[i] - Math.max(0, t0 - at[i]);
    const part = clamp(busy / perPixel, 0, 1);
    const isFound = matches && matches[next] > matches[i];
    if (isFound) line[x] = palette.found;
    else if (next - i > TURNS_TOLD)
      line[x] = (matches ? palette.dimRamp : palette.ramp)[useColor(part)];
    else line[x] = paintFew(turns, i, next, t0, t1, part, palette, matches);
  }
}

/** Something is never shown as nothing. */
const useColor = (part) => (part > 0 ? Math.max(12, Math.round(part * 255)) : 0);

/** A column with few turns: the color of the one that takes most of it, or an edge. */
function paintFew(turns, first, next, t0, t1, part, palette, matches) {
  let [longest, most] = [first, 0];
  for (let i = first; i < next; i++) {
    const ns = Math.min(turns.end[i], t1) - Math.max(turns.at[i], t0);
    if (ns > most) [longest, most] = [i, ns];
  }
  const begins = turns.at[longest] > t0 && longest > first;
  const isWide = turns.end[longest] - turns.at[longest] > EDGE_FROM * (t1 - t0);
  return palette.task(turns, turns.task[longest], begins && isWide ? 0.35 : part, matches != null);
}

/** Where single turns are not kept, the use from the buckets of the whole run. */
function paintUse(turns, cpu, t0, t1, palette, matches) {
  const [a, b] = [Math.max(0, t0), Math.min(t1, turns.run.end_ns)];
  const part = turns.useBetween(cpu, a, b) / (b - a);
  return (matches ? palette.dimRamp : palette.ramp)[useColor(part)];
}

/** Marks the waits before turns along the lower edge of a row. */
function paintWaits(pixels, width, height, row, turns, cpu, from, perPixel, palette) {
  const last = turns.begin[cpu + 1];
  const to = from + width * perPixel;
  for (let i = turns.firstAfter(cpu, from); i < last; i++) {
    const waited = turns.waited[i];
    if (turns.at[i] - waited > to) {
      if (turns.at[i] > to + 64 * perPixel) break;
      continue;
    }
    if (waited < perPixel) continue;
    const x0 = Math.max(0, Math.floor((turns.at[i] - waited - from) / perPixel));
    const x1 = Math.min(width, Math.ceil((turns.at[i] - from) / perPixel));
    for (let y = Math.max(0, row.bottom - row.waits); y < Math.min(height, row.bottom); y++) {
      if (x0 < x1) pixels.fill(palette.wait, y * width + x0, y * width + x1);
    }
  }
}
