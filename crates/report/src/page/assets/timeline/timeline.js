// The timeline: one or two runs on one axis of time, with a linked cursor.

const AXIS = 36;
const PANE_HEAD = 20;
const STRIP = 26;
const GUTTER = 74;
const ROW_MAX = 40;

async function drawTimeline(place, chapter, turnsOf) {
  const timeline = new Timeline(place, chapter, turnsOf);
  await timeline.start();
}

/** Commands that share a color: the stoppers of all CPUs. */
const kindOf = (comm) => comm.replace(/^migration\/\d+$/, "migration");

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
    this.loaded = new Map();
    this.changed = oncePerFrame(() => this.draw());
  }

  async start() {
    this.#build();
    listen(this);
    const state = readState(this.chapter);
    await this.#load(state?.shown ?? this.shown);
    this.#colorCommands();
    if (state) this.#restore(state);
    else this.#firstView();
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
      this.#describe();
      this.draw();
    });
    new ResizeObserver(this.changed).observe(this.body);
    this.draw();
  }

  // --- what there is ---

  #build() {
    const choose = (slot) => {
      const options = this.recorded.map(({ variant, index }) =>
        make("option", { value: index }, `${variant.letter} ${variant.name}`));
      if (slot === 1) options.push(make("option", { value: "" }, "nothing"));
      return make("select", { onchange: () => this.#chosen() }, ...options);
    };
    this.choosers = this.recorded.length > 1 ? [choose(0), choose(1)] : [choose(0)];
    this.search = make("input", { type: "search", placeholder: "cc1, 412, cc1:412", "aria-label": "search a task",
      oninput: () => this.find(this.search.value), onkeydown: (event) => this.#searchKey(event) });
    const button = (text, title, act) =>
      make("button", { type: "button", title, "aria-label": title, onclick: () => { act(); this.changed(); } }, text);
    this.found = make("span", { class: "tl-found" });
    this.readout = make("span", { class: "tl-marks" });
    const labels = this.choosers.map((select, slot) => make("label", {}, slot ? "below" : "above", select));
    const bar = make("div", { class: "tl-bar" }, ...labels,
      button("−", "zoom out", () => this.view.zoom(this.#center(), 2)),
      button("+", "zoom in", () => this.view.zoom(this.#center(), 0.5)),
      button("whole run", "show the whole run", () => this.view.fit()),
      button("rows −", "lower rows", () => this.setRowHeight(this.rowHeight - 1)),
      button("rows +", "higher rows", () => this.setRowHeight(this.rowHeight + 1)),
      make("label", {}, "find", this.search), this.found, this.readout);
    this.map = make("canvas", { class: "tl-map", role: "img", "aria-label": "the whole run; press to go to a place" });
    this.canvas = make("canvas", { tabindex: 0, role: "application", class: "tl-canvas",
      "aria-label": "timeline of CPUs; W A S D zoom and pan, arrows move from turn to turn" });
    this.tip = make("div", { class: "tl-tip", hidden: true });
    this.body = make("div", { class: "tl-body" }, this.map, this.canvas, this.tip);
    this.status = make("div", { class: "tl-status", role: "status", "aria-live": "polite" });
    this.info = make("div", { class: "tl-info" });
    this.legend = make("div", { class: "tl-legend" });
    this.place.append(bar, this.body, this.status, this.info, this.legend, keyHelp());
    this.map.addEventListener("pointerdown", (event) => this.#mapPressed(event));
    document.addEventListener("click", (event) => this.#jumped(event));
  }

  async #load(shown) {
    for (const index of shown) {
      if (!this.loaded.has(index)) this.loaded.set(index, await this.turnsOf(index));
    }
    this.shown = shown;
    this.choosers.forEach((select, slot) => (select.value = shown[slot] ?? ""));
    this.matches = null;
    this.palette = null;
  }

  async #chosen() {
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
      for (let i = 0; i < turns.n; i++) sums[turns.commOf[turns.task[i]]] += turns.end[i] - turns.at[i];
      comms.forEach((comm, i) => times.set(kindOf(comm), (times.get(kindOf(comm)) ?? 0) + sums[i]));
    }
    this.frequent = [...times.keys()].sort((a, b) => times.get(b) - times.get(a)).slice(0, 8);
    this.hasOthers = times.size > this.frequent.length;
    this.palette = null;
    this.#describe();
  }

  #colorsOf(turns) {
    return turns.run.comms.map((comm) => {
      const rank = this.frequent.indexOf(kindOf(comm));
      if (rank < 0) return [[140, 140, 140], [120, 120, 120]];
      return [rgb(COMMAND_COLORS.light[rank]), rgb(COMMAND_COLORS.dark[rank])];
    });
  }

  /** The legend, and whether all turns are there. */
  #describe() {
    const dark = document.documentElement.dataset.theme === "dark";
    const key = (color, text) => make("span", {}, make("i", { style: `background: ${color}` }), text);
    const colors = dark ? COMMAND_COLORS.dark : COMMAND_COLORS.light;
    const items = this.frequent.map((comm, rank) => key(colors[rank], comm));
    if (this.hasOthers) items.push(key("rgb(130 130 130)", "other commands"));
    items.push(key(css("--raised"), "idle"), key(css("--wait"), "below a row: a task waits for this CPU"));
    items.push(make("span", {}, "many turns in one column:"), (this.bar ??= colorBar(grays)));
    this.legend.replaceChildren(...items);
    const parts = this.recorded.filter(({ run }) => run.is_full || run.from_ns > 0 || run.to_ns < run.end_ns);
    for (const { variant, run } of parts) {
      const n = run.n_slices.reduce((sum, one) => sum + one, 0);
      this.legend.append(make("div", { style: "flex-basis: 100%" },
        `${variant.letter}: single turns are kept from ${instant(run.from_ns, 1e5)} to ${instant(run.to_ns, 1e5)} of ` +
        `${instant(run.end_ns, 1e5)} (${n.toLocaleString("en-US")} turns); before and after only the share of time is known.`));
    }
  }

  #center() {
    return this.cursor?.t ?? (this.view.from + this.view.to) / 2;
  }

  /** At first all single turns are in view, and a little beside them. */
  #firstView() {
    const runs = this.shown.map((index) => this.chapter.variants[index].recorded);
    const from = Math.min(...runs.map((run) => run.from_ns));
    const to = Math.max(...runs.map((run) => run.to_ns));
    if (from > 0 || to < this.end) this.view.show(from - (to - from) * 0.02, to + (to - from) * 0.05);
  }

  #restore(state) {
    this.view.show(state.from, state.to);
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
    const cpu = inside >= 0 && inside < this.paneRowsHeight ? this.rows.cpuAt(inside + this.scroll) : null;
    return { pane, cpu, t: this.timeAt(x) };
  }

  // --- what one can do ---

  hover(x, y) {
    const { pane, cpu, t } = this.#at(x, y);
    this.cursor = x >= GUTTER ? { pane, cpu, t } : null;
    if (this.cursor && cpu != null) this.#showTip(x, y, placeInWords(this.loaded.get(this.shown[pane]), cpu, t));
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
    if (row >= this.rows.cpus.length && cursor.pane + 1 < this.shown.length) [row, cursor.pane] = [0, cursor.pane + 1];
    else if (row < 0 && cursor.pane > 0) [row, cursor.pane] = [this.rows.cpus.length - 1, cursor.pane - 1];
    cursor.cpu = this.rows.cpus[clamp(row, 0, this.rows.cpus.length - 1)];
    this.#revealCpu(cursor.cpu);
    this.#tell();
  }

  #revealCpu(cpu) {
    const top = this.rows.topOf(cpu);
    if (top < this.scroll) this.scroll = top;
    if (top + this.rowHeight > this.scroll + this.paneRowsHeight) this.scroll = top + this.rowHeight - this.paneRowsHeight;
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
    const go = (text, act) => make("button", { type: "button", onclick: () => { act(); this.changed(); } }, text);
    const waker = turns.waker(i);
    this.info.append(go("turn before (P)", () => this.jumpToTask(false)), " ", go("turn after (N)", () => this.jumpToTask(true)), " ",
      go("zoom to it (Z)", () => this.showSelected()));
    if (waker !== NOBODY) {
      const woken = turns.at[i] - turns.waited[i];
      this.info.append(" ", go("to the waker", () => this.#toTurn(variant, turns.turnAt(turns.wakerCpu[i], woken))));
    }
  }

  #toTurn(variant, i) {
    if (i === NOBODY || i == null) return this.say(["that turn is not kept"]);
    const turns = this.loaded.get(variant);
    this.select(variant, i);
    const { cpu, at } = this.selected;
    this.cursor = { pane: Math.max(0, this.shown.indexOf(variant)), cpu, t: at + Math.min(1, (turns.end[i] - at) / 2) };
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
    const from = this.selected?.at ?? this.#center();
    if (this.query) return this.#toTurn(variant, this.#nextMatch(variant, from, forward));
    if (!this.selected) return this.say(["select a task, or search one"]);
    const i = turns.neighbour(this.selected.pid, from, forward);
    return this.#toTurn(variant, i);
  }

  #nextMatch(variant, t, forward) {
    const turns = this.loaded.get(variant);
    const { tasks } = this.#matching().get(variant);
    let found = NOBODY;
    for (let i = 0; i < turns.n; i++) {
      if (!tasks[turns.task[i]] || !(forward ? turns.at[i] > t : turns.at[i] < t)) continue;
      if (found === NOBODY || (forward ? turns.at[i] < turns.at[found] : turns.at[i] > turns.at[found])) found = i;
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
        const { n, tasks } = this.#matching().get(index);
        const nTasks = tasks.reduce((sum, is) => sum + is, 0);
        return `${this.chapter.variants[index].letter}: ${nTasks} tasks, ${n} turns`;
      });
      this.found.textContent = counts.join("; ");
      this.say([`found in ${counts.join("; ")}`]);
    }
    this.changed();
  }

  #searchKey(event) {
    if (event.key === "Enter") {
      this.jumpToTask(!event.shiftKey);
      this.changed();
    } else if (event.key === "Escape") {
      this.clear();
      this.canvas.focus();
    }
  }

  /** Per shown variant: which tasks stand out, and how many of their turns come before each. */
  #matching() {
    if (this.matches) return this.matches;
    this.matches = new Map();
    const query = this.query.toLowerCase();
    for (const index of this.shown) {
      const turns = this.loaded.get(index);
      const isWanted = (task) => {
        if (!query) return this.selected?.variant === index && this.selected.pid === turns.pid[task];
        const comm = turns.run.comms[turns.commOf[task]].toLowerCase();
        return comm === query || String(turns.pid[task]) === query || `${comm}:${turns.pid[task]}`.startsWith(query) ||
          (query.length > 1 && comm.includes(query));
      };
      const tasks = Uint8Array.from(turns.pid, (_, task) => isWanted(task));
      const sums = new Uint32Array(turns.n + 1);
      for (let i = 0; i < turns.n; i++) sums[i + 1] = sums[i] + tasks[turns.task[i]];
      this.matches.set(index, { tasks, sums, n: sums[turns.n] });
    }
    return this.matches;
  }

  #mapPressed(event) {
    const go = (now) => {
      const t = ((now.offsetX - GUTTER) / this.plotWidth) * this.end;
      const span = this.view.span > 0.9 * this.end ? this.end / 10 : this.view.span;
      this.view.show(t - span / 2, t + span / 2);
      this.changed();
    };
    this.map.setPointerCapture(event.pointerId);
    go(event);
    this.map.addEventListener("pointermove", go);
    this.map.addEventListener("pointerup", () => this.map.removeEventListener("pointermove", go), { once: true });
  }

  /** A button somewhere on the page leads to a wait. */
  async #jumped(event) {
    const button = event.target.closest?.("button.jump");
    if (!button || !this.place.closest(".chapter").contains(button)) return;
    const [variant, cpu, from, ns] = ["variant", "cpu", "from", "ns"].map((key) => Number(button.dataset[key]));
    if (!this.shown.includes(variant)) await this.#load([variant, ...this.shown.slice(1).filter((v) => v !== variant)]);
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

  // --- drawing ---

  draw() {
    const begin = performance.now();
    const width = this.body.clientWidth;
    if (width < 100) return;
    this.palette ??= new Map(this.shown.map((index) => [index, new Palette(this.#colorsOf(this.loaded.get(index)))]));
    const total = this.rows.layOut(this.rowHeight);
    const chrome = AXIS + this.shown.length * (PANE_HEAD + STRIP + 4);
    const most = Math.max(320, Math.round(innerHeight * 0.8));
    this.height = Math.min(chrome + this.shown.length * total, most);
    this.scroll = clamp(this.scroll, 0, Math.max(0, total - this.paneRowsHeight));
    const context = this.#sized(this.canvas, width, this.height);
    this.shown.forEach((index, pane) => this.#drawPane(context, index, pane));
    this.#drawAxis(context);
    this.#drawLines(context);
    this.#drawMap(width);
    this.#tellMarks();
    clearTimeout(this.hashTimer);
    this.hashTimer = setTimeout(() => writeState(this), 200);
    this.canvas.dataset.frameMs = (performance.now() - begin).toFixed(1);
  }

  /** A canvas of that size, cleared, in units of the page. */
  #sized(canvas, width, height) {
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

  #drawPane(context, index, pane) {
    const variant = this.chapter.variants[index];
    const y = AXIS + pane * this.paneHeight;
    context.fillStyle = variantColor(index);
    context.fillRect(0, y, 4, this.paneHeight - 4);
    context.textAlign = "left";
    context.font = "600 12.5px system-ui, sans-serif";
    context.fillText(`${variant.letter} ${variant.name}`, 10, y + PANE_HEAD / 2);
    context.font = "12px system-ui, sans-serif";
    this.#drawStrip(context, index, y + PANE_HEAD);
    this.#drawRows(context, index, pane);
    this.#drawGutter(context, pane);
  }

  /** CPUs that idle while a task waits, on average over the time of each column. */
  #drawStrip(context, index, y) {
    const run = this.chapter.variants[index].recorded;
    const height = STRIP - 8;
    // One scale for both runs.
    const most = Math.max(0.001, ...this.shown.map((shown) => this.#peakOf(shown)));
    context.fillStyle = css("--dim");
    context.textAlign = "right";
    context.font = "10.5px system-ui, sans-serif";
    context.fillText("idle while", GUTTER - 6, y + 5);
    context.fillText("task waits", GUTTER - 6, y + 16);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = css("--wait");
    const perPixel = this.view.span / this.plotWidth;
    for (let x = 0; x < this.plotWidth; x++) {
      const first = Math.max(0, Math.floor((this.view.from + x * perPixel) / run.bucket_ns));
      const last = Math.max(first, Math.ceil((this.view.from + (x + 1) * perPixel) / run.bucket_ns) - 1);
      let peak = 0;
      for (let b = first; b <= last && b < run.wasted.length; b++) peak = Math.max(peak, run.wasted[b]);
      const bar = (peak / most) * height;
      if (bar > 0) context.fillRect(GUTTER + x, y + height - bar, 1, bar);
    }
    context.fillStyle = css("--dim");
    context.textAlign = "right";
    context.fillText(`full height: ${threeDigits(most)} CPUs, largest in the column`, GUTTER + this.plotWidth - 4, y - PANE_HEAD / 2);
    context.fillStyle = css("--line");
    context.fillRect(GUTTER, y + height, this.plotWidth, 1);
  }

  #peakOf(index) {
    this.peaks ??= new Map();
    if (!this.peaks.has(index)) this.peaks.set(index, this.chapter.variants[index].recorded.wasted.reduce((a, b) => Math.max(a, b), 0));
    return this.peaks.get(index);
  }

  #drawRows(context, index, pane) {
    const scale = devicePixelRatio || 1;
    const turns = this.loaded.get(index);
    const [width, height] = [Math.round(this.plotWidth * scale), Math.round(this.paneRowsHeight * scale)];
    if (width < 1 || height < 1) return;
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const line = new Uint32Array(width);
    const palette = this.palette.get(index);
    const perPixel = this.view.span / width;
    const isSearching = this.query !== "" || this.selected != null;
    const matches = isSearching ? this.#matching().get(index).sums : null;
    const withWaits = this.rowHeight >= 5;
    for (const cpu of this.rows.cpus) {
      const top = Math.round((this.rows.topOf(cpu) - this.scroll) * scale);
      const bottom = Math.round((this.rows.topOf(cpu) + this.rowHeight - this.scroll) * scale);
      if (bottom <= 0 || top >= height) continue;
      paintRow(line, turns, cpu, this.view.from, perPixel, palette, matches);
      const space = this.rowHeight >= 4 ? Math.round(scale) : 0;
      for (let y = Math.max(0, top); y < Math.min(height, bottom - space); y++) pixels.set(line, y * width);
      if (!withWaits) continue;
      const waits = Math.max(2, Math.round(this.rowHeight * 0.2 * scale));
      paintWaits(pixels, width, height, { bottom: bottom - space, waits }, turns, cpu, this.view.from, perPixel, palette);
    }
    context.putImageData(image, Math.round(GUTTER * scale), Math.round(this.rowsTop(pane) * scale));
    if (this.rowHeight >= 12) this.#drawNames(context, turns, pane);
  }

  /** Names in turns that have room for them. */
  #drawNames(context, turns, pane) {
    const [top, height] = [this.rowsTop(pane), this.paneRowsHeight];
    context.save();
    context.beginPath();
    context.rect(GUTTER, top, this.plotWidth, height);
    context.clip();
    const isDimmed = this.query !== "" || this.selected != null;
    context.fillStyle = isDimmed ? css("--dim") : "#fff";
    context.font = `${clamp(this.rowHeight - 5, 8, 12)}px system-ui, sans-serif`;
    context.textAlign = "left";
    const least = (42 / this.plotWidth) * this.view.span;
    for (const cpu of this.rows.cpus) {
      const y = this.rows.topOf(cpu) - this.scroll + this.rowHeight / 2;
      if (y < -this.rowHeight || y > height + this.rowHeight) continue;
      const last = turns.begin[cpu + 1];
      for (let i = turns.firstAfter(cpu, this.view.from); i < last && turns.at[i] < this.view.to; ) {
        if (turns.end[i] - turns.at[i] < least) {
          // Many short turns in a row: none has room.
          i = Math.max(i + 1, turns.firstAfter(cpu, turns.at[i] + least / 2, i));
          continue;
        }
        const x0 = Math.max(GUTTER, this.xOf(turns.at[i]));
        const x1 = Math.min(GUTTER + this.plotWidth, this.xOf(turns.end[i]));
        const name = turns.name(turns.task[i]);
        const fits = Math.floor((x1 - x0 - 6) / 6.2);
        if (fits >= 3) context.fillText(name.length <= fits ? name : `${name.slice(0, fits - 1)}…`, x0 + 3, top + y);
        i += 1;
      }
    }
    context.restore();
  }

  #drawGutter(context, pane) {
    const [top, height] = [this.rowsTop(pane), this.paneRowsHeight];
    context.save();
    context.beginPath();
    context.rect(4, top, GUTTER - 4, height);
    context.clip();
    context.textAlign = "left";
    const inView = (y, bottom) => bottom - this.scroll > 0 && y - this.scroll < height;
    let lastLabel = -Infinity;
    for (const { node, llc, top: y, bottom } of this.rows.llcs().filter((l) => inView(l.top, l.bottom))) {
      const middle = top + (Math.max(y - this.scroll, 0) + Math.min(bottom - this.scroll, height)) / 2;
      context.fillStyle = css("--line");
      context.fillRect(GUTTER - 4, top + y - this.scroll, 2, bottom - y - 1);
      if (middle - lastLabel < 12) continue;
      lastLabel = middle;
      context.fillStyle = css("--dim");
      context.fillText(this.rowHeight >= 11 ? `L${llc}` : `LLC ${llc}`, 9, middle);
      if (bottom - y > 40 && this.rowHeight < 11) context.fillText(`node ${node}`, 9, middle + 14);
    }
    if (this.rowHeight >= 11) {
      context.textAlign = "right";
      context.fillStyle = css("--ink");
      for (const cpu of this.rows.cpus) {
        const y = this.rows.topOf(cpu) - this.scroll;
        if (inView(y + this.scroll, y + this.scroll + this.rowHeight)) context.fillText(`${cpu}`, GUTTER - 9, top + y + this.rowHeight / 2);
      }
    }
    context.restore();
    if (this.rows.total > height) {
      context.fillStyle = css("--dim");
      const size = Math.max(20, (height * height) / this.rows.total);
      const at = (this.scroll / (this.rows.total - height)) * (height - size);
      context.fillRect(GUTTER + this.plotWidth - 5, top + at, 4, size);
    }
  }

  #drawAxis(context) {
    const { view } = this;
    const step = roundStep((view.span / this.plotWidth) * 110);
    context.textAlign = "center";
    for (let n = Math.ceil(Math.max(0, view.from) / step); n * step <= Math.min(view.to, this.end); n++) {
      const x = this.xOf(n * step);
      context.fillStyle = css("--dim");
      context.fillRect(x, AXIS - 6, 1, 6);
      if (x > GUTTER + 30 && x < GUTTER + this.plotWidth - 30) context.fillText(instant(n * step, step), x, AXIS - 14);
    }
  }

  /** The cursor and the markers, through both panes. */
  #drawLines(context) {
    const draw = (t, color, label) => {
      const x = this.xOf(t);
      if (x < GUTTER || x > GUTTER + this.plotWidth) return;
      context.fillStyle = color;
      context.fillRect(Math.round(x), label ? 0 : AXIS - 6, 1, this.height);
      if (!label) return;
      context.textAlign = "left";
      context.fillRect(x, 0, 14, 14);
      context.fillStyle = css("--ground");
      context.fillText(label, x + 4, 7);
    };
    this.marks.forEach((t, which) => t != null && draw(t, css("--mark"), String(which + 1)));
    if (!this.cursor) return;
    draw(this.cursor.t, css("--ink"));
    const { pane, cpu } = this.cursor;
    if (cpu == null) return;
    context.strokeStyle = css("--ink");
    const y = this.rowsTop(pane) + this.rows.topOf(cpu) - this.scroll;
    context.strokeRect(GUTTER + 0.5, y - 0.5, this.plotWidth - 1, this.rowHeight + 1);
  }

  /** The whole run: busy CPUs over time, and which part is seen. */
  #drawMap(width) {
    const height = 36;
    const context = this.#sized(this.map, width, height);
    const per = this.end / this.plotWidth;
    this.shown.forEach((index) => {
      const run = this.chapter.variants[index].recorded;
      context.strokeStyle = variantColor(index);
      context.setLineDash(DASHES[index % DASHES.length]);
      context.beginPath();
      for (let x = 0; x < this.plotWidth && x * per < run.end_ns; x++) {
        const bucket = Math.min(run.busy.length - 1, Math.floor((x * per) / run.bucket_ns));
        context.lineTo(GUTTER + x, height - 3 - (run.busy[bucket] / this.chapter.cpus.length) * (height - 8));
      }
      context.stroke();
    });
    context.setLineDash([]);
    context.fillStyle = css("--dim");
    context.textAlign = "right";
    context.fillText("busy CPUs", GUTTER - 6, height / 2);
    const [from, to] = [this.view.from, this.view.to].map((t) => GUTTER + (t / this.end) * this.plotWidth);
    context.fillStyle = css("--link");
    context.globalAlpha = 0.18;
    context.fillRect(from, 0, Math.max(2, to - from), height);
    context.globalAlpha = 1;
    context.fillRect(from, 0, 1, height);
    context.fillRect(Math.max(from + 2, to) - 1, 0, 1, height);
  }

  #tellMarks() {
    const [a, b] = this.marks;
    const parts = [];
    if (a != null) parts.push(`1: ${instant(a)}`);
    if (b != null) parts.push(`2: ${instant(b)}`);
    if (a != null && b != null) parts.push(`from 1 to 2: ${duration(b - a)}`);
    this.readout.textContent = parts.join("   ");
  }
}
