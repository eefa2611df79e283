// The timeline: one or two runs on one axis of time, with a linked cursor.

const ROW_MAX = 40;

async function drawTimeline(place, chapter, turnsOf) {
  const timeline = new Timeline(place, chapter, turnsOf);
  await timeline.start();
}

/** Commands that share a color: a kind of kernel thread on all CPUs or nodes. */
const kindOf = (comm) =>
  comm.replace(/^(migration|ksoftirqd|kworker)\/.+$/, "$1").replace(/^(kcompactd)\d+$/, "$1");

class Timeline {
  constructor(place, chapter, turnsOf) {
    Object.assign(this, { place, chapter, turnsOf });
    this.recorded = recordedOf(chapter);
    this.shown = this.recorded.slice(0, 2).map(({ index }) => index);
    this.end = Math.max(...this.recorded.map(({ run }) => run.end_ns));
    this.view = new View(this.end);
    this.rows = new Rows(chapter.cpus);
    this.rowHeight = clamp(Math.floor(300 / chapter.cpus.length), 2, 18);
    this.scroll = 0;
    this.query = "";
    this.marks = [null, null];
    this.cursor = null;
    this.selected = null;
    /** Which average the lines in the rows show; null: none. */
    this.signal = null;
    this.loaded = new Map();
    this.changed = oncePerFrame(() => this.draw());
  }

  async start() {
    buildParts(this);
    listen(this);
    const state = readState(this.chapter);
    await this.#load(state?.shown ?? this.shown);
    this.#colorCommands();
    if (state) this.#restore(state);
    else {
      this.#firstView();
      if (this.signalNames.length > 0) this.setSignal(0);
    }
    const restoreHash = async () => {
      const state = readState(this.chapter);
      if (!state) return;
      await this.#load(state.shown);
      this.#restore(state);
      this.draw();
    };
    addEventListener("hashchange", restoreHash);
    redraws.push(() => {
      this.palette = null;
      describe(this);
      this.draw();
    });
    new ResizeObserver(this.changed).observe(this.body);
    this.draw();
  }

  // --- what is loaded ---

  async #load(shown) {
    for (const index of shown) {
      if (!this.loaded.has(index)) this.loaded.set(index, await this.turnsOf(index));
    }
    this.shown = shown;
    this.choosers.forEach((select, slot) => (select.value = shown[slot] ?? ""));
    this.matches = null;
    this.palette = null;
  }

  async chosen() {
    const values = this.choosers.map((select) => select.value).filter((value) => value !== "");
    await this.#load(values.map(Number));
    this.#colorCommands();
    this.find(this.query);
    this.draw();
  }

  /** The most frequent commands have colors of their own, the others are gray. */
  #colorCommands() {
    const times = new Map();
    for (const turns of this.loaded.values()) {
      const { comms } = turns.run;
      const sums = new Float64Array(comms.length);
      for (let i = 0; i < turns.n; i++)
        sums[turns.commOf[turns.task[i]]] += turns.end[i] - turns.at[i];
      comms.forEach((comm, i) => times.set(kindOf(comm), (times.get(kindOf(comm)) ?? 0) + sums[i]));
    }
    this.frequent = [...times.keys()].sort((a, b) => times.get(b) - times.get(a)).slice(0, 8);
    this.hasOthers = times.size > this.frequent.length;
    this.palette = null;
    describe(this);
  }

  colorsOf(turns) {
    return turns.run.comms.map((comm) => {
      const rank = this.frequent.indexOf(kindOf(comm));
      if (rank < 0)
        return [
          [140, 140, 140],
          [120, 120, 120],
        ];
      return [rgb(COMMAND_COLORS.light[rank]), rgb(COMMAND_COLORS.dark[rank])];
    });
  }

  /** Names of the averages that are recorded. */
  get signalNames() {
    return this.recorded.find(({ run }) => run.signals)?.run.signals.names ?? [];
  }

  /** What the height of a row stands for: one scale for both runs. A CPU is full at 1024: what new
   * tasks bring along beyond that is cut off, as schedutil and the balancer do. */
  fullSignal() {
    if (this.signalNames[this.signal] === "util_avg") return 1024;
    const peaks = [...this.loaded.values()].map((turns) => turns.signals[this.signal]?.peak ?? 0);
    return Math.max(1024, ...peaks);
  }

  /** Shows an average; rows that are too low for its line become higher. */
  setSignal(signal) {
    this.signal = signal;
    if (this.signalChooser) this.signalChooser.value = signal ?? "";
    if (signal != null) this.rowHeight = Math.max(this.rowHeight, SIGNAL_ROW + 5);
    describe(this);
  }

  /** The next of them, and none after the last. */
  nextSignal() {
    if (this.signalNames.length === 0) return this.say(["no averages are recorded: --signals"]);
    const next = this.signal == null ? 0 : this.signal + 1;
    this.setSignal(next < this.signalNames.length ? next : null);
    this.say([this.signal == null ? "no average" : this.signalNames[this.signal]]);
  }

  center() {
    return this.cursor?.t ?? (this.view.from + this.view.to) / 2;
  }

  /** At first all single turns are in view, and a little beside them. */
  #firstView() {
    const runs = this.shown.map((index) => this.chapter.variants[index].recorded);
    const from = Math.min(...runs.map((run) => run.from_ns));
    const to = Math.max(...runs.map((run) => run.to_ns));
    if (from > 0 || to < this.end)
      this.view.show(from - (to - from) * 0.02, to + (to - from) * 0.05);
  }

  #restore(state) {
    this.view.show(state.from, state.to);
    const isSignal = state.signal != null && state.signal < this.signalNames.length;
    this.setSignal(isSignal ? state.signal : null);
    if (state.rowHeight) this.rowHeight = clamp(state.rowHeight, 1, ROW_MAX);
    this.scroll = state.scroll;
    this.marks = state.marks;
    this.search.value = state.query;
    this.find(state.query);
    const [variant, cpu, at] = state.selected;
    const turns = this.loaded.get(variant);
    const i = turns && cpu < this.chapter.cpus.length ? turns.turnAt(cpu, at) : NOBODY;
    if (i !== NOBODY) this.select(variant, i);
  }

  // --- places ---

  get plotWidth() {
    return Math.max(50, this.canvas.clientWidth - GUTTER);
  }

  get paneHeight() {
    return Math.floor((this.height - AXIS) / this.shown.length);
  }

  get paneRowsHeight() {
    return this.paneHeight - PANE_HEAD - STRIP - 4;
  }

  timeAt(x) {
    return this.view.from + ((x - GUTTER) / this.plotWidth) * this.view.span;
  }

  xOf(t) {
    return GUTTER + ((t - this.view.from) / this.view.span) * this.plotWidth;
  }

  rowsTop(pane) {
    return AXIS + pane * this.paneHeight + PANE_HEAD + STRIP;
  }

  /** Pane and CPU at a place of the canvas. */
  #at(x, y) {
    const pane = clamp(Math.floor((y - AXIS) / this.paneHeight), 0, this.shown.length - 1);
    const inside = y - this.rowsTop(pane);
    const cpu =
      inside >= 0 && inside < this.paneRowsHeight ? this.rows.cpuAt(inside + this.scroll) : null;
    return { pane, cpu, t: this.timeAt(x) };
  }

  // --- what one can do ---

  hover(x, y) {
    const { pane, cpu, t } = this.#at(x, y);
    this.cursor = x >= GUTTER ? { pane, cpu, t } : null;
    if (this.cursor && cpu != null)
      this.#showTip(x, y, placeInWords(this.loaded.get(this.shown[pane]), cpu, t));
    else this.hideTip();
    this.changed();
  }

  #showTip(x, y, lines) {
    this.tip.textContent = lines.join("\n");
    this.tip.hidden = false;
    const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const [limitX, limitY] = [this.body.clientWidth, this.body.clientHeight];
    const top = y + this.canvas.offsetTop;
    this.tip.style.left = `${x + 14 + width < limitX ? x + 14 : Math.max(2, x - width - 10)}px`;
    this.tip.style.top = `${top + 14 + height < limitY ? top + 14 : Math.max(2, top - height - 10)}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  say(lines) {
    this.status.textContent = lines.join(". ");
  }

  setRowHeight(height) {
    this.rowHeight = clamp(height, 1, ROW_MAX);
  }

  scrollBy(pixels) {
    this.scroll += pixels;
  }

  mark(which, t) {
    this.marks[which] = t;
  }

  unmark() {
    this.marks = [null, null];
  }

  /** The cursor's place, made if there is none: the first CPU in the middle. */
  #cursorCpu() {
    const { view } = this;
    this.cursor ??= { pane: 0, cpu: this.rows.cpus[0], t: (view.from + view.to) / 2 };
    this.cursor.cpu ??= this.rows.cpus[0];
    return this.cursor;
  }

  /** To the next turn on the CPU, or the one before. */
  step(by) {
    const cursor = this.#cursorCpu();
    const turns = this.loaded.get(this.shown[cursor.pane]);
    const [begin, end] = [turns.begin[cursor.cpu], turns.begin[cursor.cpu + 1]];
    let i = turns.firstAfter(cursor.cpu, cursor.t);
    const isInside = i < end && turns.at[i] <= cursor.t;
    if (by < 0) i -= 1;
    else if (isInside) i += 1;
    if (i < begin || i >= end) return this.say(["there is no further turn on this CPU"]);
    cursor.t = turns.at[i] + Math.min(1, (turns.end[i] - turns.at[i]) / 2);
    this.view.reveal(cursor.t);
    this.#tell();
  }

  stepCpu(by) {
    const cursor = this.#cursorCpu();
    let row = this.rows.rowOf[cursor.cpu] + by;
    // Below the last CPU of one run is the first of the other.
    if (row >= this.rows.cpus.length && cursor.pane + 1 < this.shown.length)
      [row, cursor.pane] = [0, cursor.pane + 1];
    else if (row < 0 && cursor.pane > 0)
      [row, cursor.pane] = [this.rows.cpus.length - 1, cursor.pane - 1];
    cursor.cpu = this.rows.cpus[clamp(row, 0, this.rows.cpus.length - 1)];
    this.#revealCpu(cursor.cpu);
    this.#tell();
  }

  #revealCpu(cpu) {
    const top = this.rows.topOf(cpu);
    if (top < this.scroll) this.scroll = top;
    if (top + this.rowHeight > this.scroll + this.paneRowsHeight)
      this.scroll = top + this.rowHeight - this.paneRowsHeight;
  }

  /** Says what is under the cursor, and shows it. */
  #tell() {
    const { pane, cpu, t } = this.cursor;
    const lines = placeInWords(this.loaded.get(this.shown[pane]), cpu, t);
    this.say(lines);
    const y = this.rowsTop(pane) + this.rows.topOf(cpu) - this.scroll + this.rowHeight;
    this.#showTip(this.xOf(t), y, lines);
  }

  selectAtCursor() {
    const { pane, cpu, t } = this.cursor ?? {};
    if (cpu == null) return;
    const variant = this.shown[pane];
    const turns = this.loaded.get(variant);
    const i = turns.turnAt(cpu, t);
    if (i === NOBODY || t < turns.run.from_ns || t >= turns.run.to_ns) return this.clear();
    this.select(variant, i);
  }

  /** Selects a turn: all turns of its task stand out. */
  select(variant, i) {
    const turns = this.loaded.get(variant);
    const cpu = turns.cpuOf(i);
    this.selected = { variant, i, cpu, at: turns.at[i], pid: turns.pid[turns.task[i]] };
    this.matches = null;
    const lines = turnInWords(turns, i, cpu);
    this.say(["selected", ...lines]);
    this.info.replaceChildren(`${this.chapter.variants[variant].letter}: ${lines.join("\n")}\n`);
    const go = (text, act) =>
      make(
        "button",
        {
          type: "button",
          onclick: () => {
            act();
            this.changed();
          },
        },
        text,
      );
    const waker = turns.waker(i);
    this.info.append(
      go("turn before (P)", () => this.jumpToTask(false)),
      " ",
      go("turn after (N)", () => this.jumpToTask(true)),
      " ",
      go("zoom to it (Z)", () => this.showSelected()),
    );
    if (waker !== NOBODY) {
      const woken = turns.at[i] - turns.waited[i];
      this.info.append(
        " ",
        go("to the waker", () => this.#toTurn(variant, turns.turnAt(turns.wakerCpu[i], woken))),
      );
    }
  }

  #toTurn(variant, i) {
    if (i === NOBODY || i == null) return this.say(["that turn is not kept"]);
    const turns = this.loaded.get(variant);
    this.select(variant, i);
    const { cpu, at } = this.selected;
    this.cursor = {
      pane: Math.max(0, this.shown.indexOf(variant)),
      cpu,
      t: at + Math.min(1, (turns.end[i] - at) / 2),
    };
    this.view.reveal(at);
    this.#revealCpu(cpu);
  }

  showSelected() {
    if (!this.selected) return;
    const turns = this.loaded.get(this.selected.variant);
    const { i } = this.selected;
    const [from, to] = [turns.at[i] - turns.waited[i], turns.end[i]];
    this.view.show(from - (to - from) / 2, to + (to - from) / 2);
    this.#revealCpu(this.selected.cpu);
  }

  /** The next turn, or the one before, of the selected task or of those that were found. */
  jumpToTask(forward) {
    const variant = this.selected?.variant ?? this.shown[this.cursor?.pane ?? 0];
    const turns = this.loaded.get(variant);
    const from = this.selected?.at ?? this.center();
    if (this.query) return this.#toTurn(variant, this.#nextMatch(variant, from, forward));
    if (!this.selected) return this.say(["select a task, or search one"]);
    const i = turns.neighbour(this.selected.pid, from, forward);
    return this.#toTurn(variant, i);
  }

  #nextMatch(variant, t, forward) {
    const turns = this.loaded.get(variant);
    const { tasks } = this.matching().get(variant);
    let found = NOBODY;
    for (let i = 0; i < turns.n; i++) {
      if (!tasks[turns.task[i]] || !(forward ? turns.at[i] > t : turns.at[i] < t)) continue;
      if (
        found === NOBODY ||
        (forward ? turns.at[i] < turns.at[found] : turns.at[i] > turns.at[found])
      )
        found = i;
    }
    return found;
  }

  clear() {
    this.selected = null;
    this.search.value = "";
    this.info.replaceChildren();
    this.find("");
    this.hideTip();
    this.say(["nothing is selected"]);
  }

  find(text) {
    this.query = text.trim();
    this.matches = null;
    this.found.textContent = "";
    if (this.query) {
      this.selected = null;
      this.info.replaceChildren();
      const counts = this.shown.map((index) => {
        const { n, tasks } = this.matching().get(index);
        const nTasks = tasks.reduce((sum, is) => sum + is, 0);
        return `${this.chapter.variants[index].letter}: ${nTasks} tasks, ${n} turns`;
      });
      this.found.textContent = counts.join("; ");
      this.say([`found in ${counts.join("; ")}`]);
    }
    this.changed();
  }

  searchKey(event) {
    if (event.key === "Enter") {
      this.jumpToTask(!event.shiftKey);
      this.changed();
    } else if (event.key === "Escape") {
      this.clear();
      this.canvas.focus();
    }
  }

  /** Per shown variant: which tasks stand out, and how many of their turns come before each. */
  matching() {
    if (this.matches) return this.matches;
    this.matches = new Map();
    const query = this.query.toLowerCase();
    for (const index of this.shown) {
      const turns = this.loaded.get(index);
      const isWanted = (task) => {
        if (!query)
          return this.selected?.variant === index && this.selected.pid === turns.pid[task];
        const comm = turns.run.comms[turns.commOf[task]].toLowerCase();
        return (
          comm === query ||
          String(turns.pid[task]) === query ||
          `${comm}:${turns.pid[task]}`.startsWith(query) ||
          (query.length > 1 && comm.includes(query))
        );
      };
      const tasks = Uint8Array.from(turns.pid, (_, task) => isWanted(task));
      const sums = new Uint32Array(turns.n + 1);
      for (let i = 0; i < turns.n; i++) sums[i + 1] = sums[i] + tasks[turns.task[i]];
      this.matches.set(index, { tasks, sums, n: sums[turns.n] });
    }
    return this.matches;
  }

  mapPressed(event) {
    const go = (now) => {
      const t = ((now.offsetX - GUTTER) / this.plotWidth) * this.end;
      const span = this.view.span > 0.9 * this.end ? this.end / 10 : this.view.span;
      this.view.show(t - span / 2, t + span / 2);
      this.changed();
    };
    this.map.setPointerCapture(event.pointerId);
    go(event);
    this.map.addEventListener("pointermove", go);
    this.map.addEventListener("pointerup", () => this.map.removeEventListener("pointermove", go), {
      once: true,
    });
  }

  /** A button somewhere on the page leads to a wait. */
  async jumped(event) {
    const button = event.target.closest?.("button.jump");
    if (!button || !this.place.closest(".chapter").contains(button)) return;
    const keys = ["variant", "cpu", "from", "ns", "pid"];
    const [variant, cpu, from, ns, pid] = keys.map((key) => Number(button.dataset[key]));
    if (!this.shown.includes(variant)) {
      await this.#load([variant, ...this.shown.slice(1)]);
      this.#colorCommands();
    }
    this.clear();
    // The turn after the wait, if it is kept: perhaps on another CPU, which has taken the task.
    const turns = this.loaded.get(variant);
    const next = turns.neighbour(pid, from + ns - 1, true);
    if (next !== NOBODY) this.select(variant, next);
    this.view.show(from - ns, from + 2 * ns);
    this.cursor = { pane: this.shown.indexOf(variant), cpu, t: from + ns / 2 };
    this.marks = [from, from + ns];
    if (this.rowHeight < 6) this.rowHeight = 6;
    this.draw();
    this.#revealCpu(cpu);
    this.body.scrollIntoView({ block: "center" });
    this.canvas.focus({ preventScroll: true });
    this.#tell();
    this.draw();
  }

  /** Where the markers are, and the time between them. */
  tellMarks() {
    const [a, b] = this.marks;
    const parts = [];
    if (a != null) parts.push(`1: ${instant(a)}`);
    if (b != null) parts.push(`2: ${instant(b)}`);
    if (a != null && b != null) parts.push(`from 1 to 2: ${duration(b - a)}`);
    this.readout.textContent = parts.join("   ");
  }

  draw() {
    const begin = performance.now();
    if (this.body.clientWidth < 100) return;
    const colors = (index) => [index, new Palette(this.colorsOf(this.loaded.get(index)))];
    this.palette ??= new Map(this.shown.map(colors));
    drawFrame(this);
    this.tellMarks();
    clearTimeout(this.hashTimer);
    this.hashTimer = setTimeout(() => writeState(this), 200);
    this.canvas.dataset.frameMs = (performance.now() - begin).toFixed(1);
  }
}
