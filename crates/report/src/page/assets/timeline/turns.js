// The turns of one run. Sums of busy time before each turn make the use of a CPU between any two
// instants exact, whatever the zoom: nothing is sampled.

const CAME = { STARTED: 0, WOKEN: 1, INTERRUPT: 2, FORKED: 3, PREEMPTED: 4 };
const NOBODY = -1;

class Turns {
  constructor(run, numbers) {
    this.run = run;
    this.n = run.n_slices.reduce((sum, n) => sum + n, 0);
    this.begin = new Uint32Array(run.n_slices.length + 1);
    run.n_slices.forEach((n, cpu) => (this.begin[cpu + 1] = this.begin[cpu] + n));
    this.#readTimes(numbers);
    this.#readTasks(numbers);
    this.waited = numbers.fill(new Float64Array(this.n));
    this.#readWakers(numbers);
    this.rule = numbers.fill(new Uint16Array(this.n));
    const kinds = numbers.fill(new Uint8Array(this.n));
    this.came = kinds.map((kind) => kind >> 3);
    this.ended = kinds.map((kind) => kind & 7);
    this.#readNames(numbers, run);
    this.#readUse(numbers, run);
    this.#readSignals(numbers, run);
  }

  #readTimes(numbers) {
    this.at = numbers.fill(new Float64Array(this.n));
    this.end = new Float64Array(this.n);
    /** Busy time of the CPU in the turns before this one. */
    this.before = new Float64Array(this.n);
    for (let cpu = 0; cpu + 1 < this.begin.length; cpu++) {
      let [end, busy] = [0, 0];
      for (let i = this.begin[cpu]; i < this.begin[cpu + 1]; i++) {
        this.at[i] += end;
        this.before[i] = busy;
        // Lengths are the second column: when the first is read, all distances have been.
        const ns = numbers.next();
        end = this.at[i] + ns;
        busy += ns;
        this.end[i] = end;
      }
    }
  }

  #readTasks(numbers) {
    this.task = new Int32Array(this.n);
    for (let cpu = 0; cpu + 1 < this.begin.length; cpu++) {
      let task = 0;
      for (let i = this.begin[cpu]; i < this.begin[cpu + 1]; i++) {
        task += numbers.nextSigned();
        this.task[i] = task;
      }
    }
  }

  #readWakers(numbers) {
    /** Wakers that do not follow from whose turn it was. */
    this.wakersTold = new Map();
    for (let i = 0; i < this.n; i++) {
      const told = numbers.next();
      if (told > 0) this.wakersTold.set(i, told === 1 ? NOBODY : told - 2);
    }
    this.wakerCpu = this.#readCpus(numbers);
    this.lastCpu = this.#readCpus(numbers);
  }

  #readCpus(numbers) {
    const cpus = new Int16Array(this.n);
    for (let cpu = 0; cpu + 1 < this.begin.length; cpu++) {
      for (let i = this.begin[cpu]; i < this.begin[cpu + 1]; i++)
        cpus[i] = cpu + numbers.nextSigned();
    }
    return cpus;
  }

  #readNames(numbers, run) {
    let pid = 0;
    this.pid = new Int32Array(run.n_tasks).map(() => (pid += numbers.nextSigned()));
    this.commOf = numbers.fill(new Uint32Array(run.n_tasks));
  }

  /** Sums of the use before each bucket, ns. */
  #readUse(numbers, run) {
    const n = run.waiting.length;
    this.useBefore = run.n_slices.map(() => {
      const sums = new Float64Array(n + 1);
      for (let b = 0; b < n; b++) {
        const length = Math.min(run.bucket_ns, run.end_ns - b * run.bucket_ns);
        sums[b + 1] = sums[b] + (numbers.next() / 1000) * length;
      }
      return sums;
    });
  }

  /** Of each average, if they are recorded: its peak, and per CPU sums before each bucket. */
  #readSignals(numbers, run) {
    this.signals = (run.signals?.names ?? []).map((name) => {
      const { bucket_ns, n_buckets } = run.signals;
      const signal = { name, peak: 0, before: [] };
      signal.before = run.n_slices.map(() => {
        const sums = new Float64Array(n_buckets + 1);
        let value = 0;
        for (let b = 0; b < n_buckets; b++) {
          value += numbers.nextSigned();
          signal.peak = Math.max(signal.peak, value);
          sums[b + 1] = sums[b] + value * Math.min(bucket_ns, run.end_ns - b * bucket_ns);
        }
        return sums;
      });
      return signal;
    });
  }

  /** The mean of an average of a CPU between two instants of the run. */
  signalBetween(signal, cpu, from, to) {
    const { bucket_ns } = this.run.signals;
    const sums = signal.before[cpu];
    return (this.#sumUntil(sums, bucket_ns, to) - this.#sumUntil(sums, bucket_ns, from)) / (to - from);
  }

  name(task) {
    return `${this.run.comms[this.commOf[task]]}:${this.pid[task]}`;
  }

  /** The task that was current where a turn's task became runnable, or NOBODY. */
  waker(i) {
    if (this.came[i] === CAME.PREEMPTED || this.came[i] === CAME.STARTED) return NOBODY;
    if (this.wakersTold.has(i)) return this.wakersTold.get(i);
    const running = this.turnAt(this.wakerCpu[i], this.at[i] - this.waited[i]);
    return running === NOBODY ? NOBODY : this.task[running];
  }

  /** The first turn of a CPU that ends after `t`; the number behind the last if there is none. */
  firstAfter(cpu, t, low = this.begin[cpu]) {
    let high = this.begin[cpu + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.end[middle] <= t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first turn from `low` on that begins at `t` or later. Near ones are found soonest. */
  firstFrom(cpu, t, low) {
    const last = this.begin[cpu + 1];
    let step = 1;
    while (low + step < last && this.at[low + step] < t) step *= 2;
    let high = Math.min(low + step, last);
    low += step >> 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at[middle] < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The turn of a CPU at `t`, or NOBODY. */
  turnAt(cpu, t) {
    const i = this.firstAfter(cpu, t);
    return i < this.begin[cpu + 1] && this.at[i] <= t ? i : NOBODY;
  }

  cpuOf(i) {
    let cpu = 0;
    while (this.begin[cpu + 1] <= i) cpu++;
    return cpu;
  }

  /** Busy time of a CPU from the buckets of the whole run: exact at their borders, ns. */
  useBetween(cpu, from, to) {
    return this.#useUntil(cpu, to) - this.#useUntil(cpu, from);
  }

  #useUntil(cpu, t) {
    return this.#sumUntil(this.useBefore[cpu], this.run.bucket_ns, t);
  }

  /** A sum up to an instant, of which those before each bucket are known. */
  #sumUntil(sums, bucketNs, t) {
    const bucket = Math.min(Math.floor(t / bucketNs), sums.length - 2);
    const from = bucket * bucketNs;
    const length = Math.min(bucketNs, this.run.end_ns - from);
    const part = length > 0 ? Math.min(1, (t - from) / length) : 0;
    return sums[bucket] + (sums[bucket + 1] - sums[bucket]) * part;
  }

  /** The next turn of a process after an instant, or the last before it; its name may change. */
  neighbour(pid, t, forward) {
    let found = NOBODY;
    for (let i = 0; i < this.n; i++) {
      if (this.pid[this.task[i]] !== pid) continue;
      const nearer =
        found === NOBODY || (forward ? this.at[i] < this.at[found] : this.at[i] > this.at[found]);
      if ((forward ? this.at[i] > t : this.at[i] < t) && nearer) found = i;
    }
    return found;
  }

  /** Turns that wait at `t` for a CPU, of those that begin soon after. */
  waitingAt(t, most) {
    const found = [];
    for (let cpu = 0; cpu + 1 < this.begin.length; cpu++) {
      let i = this.firstAfter(cpu, t);
      if (i < this.begin[cpu + 1] && this.at[i] <= t) i++;
      const end = Math.min(i + 64, this.begin[cpu + 1]);
      for (; i < end; i++) if (this.at[i] - this.waited[i] <= t) found.push(i);
    }
    found.sort((a, b) => this.waited[b] - this.waited[a]);
    return { n: found.length, longest: found.slice(0, most) };
  }
}
