"""Where wake-ups went, by what was idle when they were decided; and which came together."""

from collections import Counter, defaultdict

from .events import Switch, Wake

# Wake-ups of one CPU that follow each other this closely come from one interrupt: the next of the
# same interrupt needs some us, another interrupt of its own needs its entry and exit as well.
TOGETHER_NS = 6_000

# Where a task may go: its last CPU, the CPU that wakes it, another one behind the last one's LLC,
# another one behind the waker's, or elsewhere.
PLACES = ["prev", "waker", "llc", "wllc", "far"]


class Targets:
    """Counts the wake-ups of the given threads: situation -> place -> number.

    `llc_of` gives the LLC of each CPU. Which CPUs idle is read from the switches, at the instant of
    `sched_waking`; where the task went is what `sched_wakeup` says."""

    def __init__(self, names, llc_of):
        self.names = names
        self.llc_of = llc_of
        self.cpus_of = defaultdict(list)
        for cpu, llc in llc_of.items():
            self.cpus_of[llc].append(cpu)
        self.on = defaultdict(int)
        self.last = {}
        self.open = {}
        self.counts = defaultdict(Counter)

    def take(self, event):
        if isinstance(event, Switch):
            self.on[event.cpu] = event.next_tid
            self.last[event.next_tid] = event.cpu
            if event.tid:
                self.last[event.tid] = event.cpu
        elif not isinstance(event, Wake) or (self.names and event.name not in self.names):
            return
        elif event.kind == "sched_waking":
            prev = self.last.get(event.tid, event.target)
            self.open[event.tid] = (event.cpu, prev, self.situation(event.tid, event.cpu, prev))
        elif event.kind == "sched_wakeup" and event.tid in self.open:
            waker, prev, situation = self.open.pop(event.tid)
            if event.target is not None:
                self.counts[situation][self.place(event.target, prev, waker)] += 1

    def llc_state(self, llc):
        return "has idle" if any(self.on[c] == 0 for c in self.cpus_of[llc]) else "is full"

    def situation(self, tid, waker, prev):
        """What decides, in words: who wakes, and what was idle."""
        own, other = self.llc_of.get(prev), self.llc_of.get(waker)
        if waker == prev:
            relation = "on prev"
        else:
            relation = "near" if own == other else "far"
        waking = "idle" if self.on[waker] == 0 else "busy"
        runs = self.on[prev]
        before = "idle" if runs == 0 else "still runs it" if runs == tid else "busy"
        text = f"waker {relation}, {waking}; prev {before}; LLC {self.llc_state(own)}"
        return text + (f", waker's {self.llc_state(other)}" if relation == "far" else "")

    def place(self, target, prev, waker):
        if target == prev:
            return "prev"
        if target == waker:
            return "waker"
        llc = self.llc_of.get(target)
        if llc == self.llc_of.get(prev):
            return "llc"
        return "wllc" if llc == self.llc_of.get(waker) else "far"

    def result(self):
        return {
            row: {"n": sum(c.values()), "share": {p: c[p] / sum(c.values()) for p in PLACES}}
            for row, c in self.counts.items()
        }


class Batches:
    """Counts wake-ups by how many come together: size of the batch -> wake-ups."""

    def __init__(self, names):
        self.names = names
        self.at, self.size = {}, {}
        self.counts = Counter()

    def take(self, event):
        if not isinstance(event, Wake) or event.kind != "sched_waking":
            return
        if self.names and event.name not in self.names:
            return
        cpu = event.cpu
        if cpu in self.at and event.ns - self.at[cpu] < TOGETHER_NS:
            self.size[cpu] += 1
        else:
            self.close(cpu)
            self.size[cpu] = 1
        self.at[cpu] = event.ns

    def close(self, cpu):
        size = self.size.pop(cpu, 0)
        self.counts[size] += size

    def result(self):
        """The number of wake-ups, and the share that did not come alone."""
        for cpu in list(self.size):
            self.close(cpu)
        n = sum(self.counts.values())
        return {"n": n, "together": 1 - self.counts[1] / n if n else 0.0}
