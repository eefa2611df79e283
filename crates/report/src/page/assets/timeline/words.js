// What is said of a turn, or of an instant at which a CPU idles: in the tip, below, and aloud.

const ENDED = [
  "sleeps",
  "sleeps uninterruptibly (D)",
  "has no more work (I)",
  "is preempted",
  "exits",
  "goes on",
];

/** Who or what made a task runnable before a turn. */
function cameBy(turns, i) {
  const waker = turns.waker(i);
  const by = waker === NOBODY ? null : turns.name(waker);
  const cpu = turns.wakerCpu[i];
  switch (turns.came[i]) {
    case CAME.WOKEN:
      return by ? `woken by ${by} on CPU ${cpu}` : `woken on CPU ${cpu}`;
    case CAME.INTERRUPT:
      return `woken by an interrupt on CPU ${cpu}${by ? `, while ${by} was current` : ""}`;
    case CAME.FORKED:
      return by ? `forked by ${by} on CPU ${cpu}` : "forked";
    case CAME.PREEMPTED:
      return `had been preempted on CPU ${cpu}`;
    default:
      return "there from the beginning";
  }
}

/** A turn in lines. */
function turnInWords(turns, i, cpu) {
  const ns = turns.end[i] - turns.at[i];
  const lines = [
    `${turns.name(turns.task[i])} on CPU ${cpu}`,
    `${instant(turns.at[i])} to ${instant(turns.end[i])}: ${duration(ns)}, then ${ENDED[turns.ended[i]]}`,
  ];
  const [rule, text] = turns.run.rules[turns.rule[i]] ?? ["", ""];
  const isStopper = turns.run.comms[turns.commOf[turns.task[i]]].startsWith("migration/");
  if (isStopper) return [...lines, "the CPU's stopper: moves a running task"];
  lines.push(`waited ${duration(turns.waited[i])}: ${cameBy(turns, i)}`);
  if (turns.lastCpu[i] !== cpu) lines.push(`ran on CPU ${turns.lastCpu[i]} before`);
  lines.push(`put here by ${rule}: ${text}`);
  return lines;
}

/** What is at an instant on a CPU, in lines. */
function placeInWords(turns, cpu, t) {
  const { run } = turns;
  if (t < 0 || t >= run.end_ns) return ["not a part of the run"];
  const lines = whatIsThere(turns, cpu, t);
  if (turns.signals.length === 0) return lines;
  const bucket = Math.floor(t / run.signals.bucket_ns) * run.signals.bucket_ns;
  const to = Math.min(bucket + run.signals.bucket_ns, run.end_ns);
  const value = (s) => `${s.name} ${Math.round(turns.signalBetween(s, cpu, bucket, to))}`;
  const all = turns.signals.map(value).join(", ");
  return [...lines, `${all} (mean of ${duration(to - bucket)})`];
}

function whatIsThere(turns, cpu, t) {
  const { run } = turns;
  if (t < run.from_ns || t >= run.to_ns) {
    const bucket = Math.floor(t / run.bucket_ns) * run.bucket_ns;
    const to = Math.min(bucket + run.bucket_ns, run.end_ns);
    const share = turns.useBetween(cpu, bucket, to) / (to - bucket);
    return [
      `CPU ${cpu}: ${(share * 100).toFixed(1)} % busy`,
      `on average from ${instant(bucket, run.bucket_ns)} to ${instant(to, run.bucket_ns)}; ` +
        "single turns are not kept here",
    ];
  }
  const i = turns.turnAt(cpu, t);
  return i === NOBODY ? idleInWords(turns, cpu, t) : turnInWords(turns, i, cpu);
}

function idleInWords(turns, cpu, t) {
  const next = turns.firstAfter(cpu, t);
  const from = next > turns.begin[cpu] ? turns.end[next - 1] : turns.run.from_ns;
  const to = next < turns.begin[cpu + 1] ? turns.at[next] : turns.run.to_ns;
  const lines = [`CPU ${cpu} idles`, `${instant(from)} to ${instant(to)}: ${duration(to - from)}`];
  const waiting = turns.waitingAt(t, 3);
  if (waiting.n === 0) return [...lines, "no task waits at this instant"];
  const task = (i) =>
    `${turns.name(turns.task[i])} for CPU ${turns.cpuOf(i)} (${duration(turns.waited[i])})`;
  lines.push(`${waiting.n === 1 ? "1 task waits" : `${waiting.n} tasks wait`} at this instant:`);
  waiting.longest.forEach((i) => lines.push(`  ${task(i)}`));
  if (waiting.n > 3) lines.push("  …");
  return lines;
}
