// Which CPU is in which row: by node, LLC and core, with gaps where groups end.

const GAP_LLC = 1;
const GAP_NODE = 5;

class Rows {
  /** `places`: per CPU its socket, node, LLC and core. */
  constructor(places) {
    this.places = places;
    const cpus = places.map((_, cpu) => cpu);
    const before = (a, b) => {
      const [p, q] = [places[a], places[b]];
      return p[0] - q[0] || p[1] - q[1] || p[2] - q[2] || p[3] - q[3] || a - b;
    };
    this.cpus = cpus.sort(before);
    this.rowOf = [];
    this.cpus.forEach((cpu, row) => (this.rowOf[cpu] = row));
  }

  /** Places all rows of a height; answers with the height of all together. */
  layOut(height) {
    this.height = height;
    this.tops = [];
    let y = 0;
    this.cpus.forEach((cpu, row) => {
      if (row > 0) y += this.#gapBefore(row);
      this.tops.push(y);
      y += height;
    });
    this.total = y;
    return y;
  }

  #gapBefore(row) {
    const [above, here] = [this.places[this.cpus[row - 1]], this.places[this.cpus[row]]];
    if (above[0] !== here[0] || above[1] !== here[1]) return GAP_NODE;
    return above[2] !== here[2] ? GAP_LLC : 0;
  }

  /** The CPU at a height below the first row's top, or null. */
  cpuAt(y) {
    let [low, high] = [0, this.tops.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.tops[middle] <= y) low = middle + 1;
      else high = middle;
    }
    const row = low - 1;
    return row >= 0 && y < this.tops[row] + this.height ? this.cpus[row] : null;
  }

  topOf(cpu) {
    return this.tops[this.rowOf[cpu]];
  }

  /** LLCs with the heights at which they begin and end. */
  llcs() {
    const found = [];
    this.cpus.forEach((cpu, row) => {
      const [socket, node, llc] = this.places[cpu];
      const last = found.at(-1);
      const bottom = this.tops[row] + this.height;
      if (last?.llc === llc) last.bottom = bottom;
      else found.push({ socket, node, llc, top: this.tops[row], bottom });
    });
    return found;
  }
}
