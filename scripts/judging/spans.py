"""Events become spans, and spans become figures per thread name: waits, stays, switches, moves."""

import statistics

from .events import Charge, Switch


class Thread:
    """What one thread did: the lengths of its waits and stays, in ns."""

    def __init__(self):
        self.name = ""
        self.waits, self.stays = [], []
        self.entered = self.preempted = self.moved = 0
        self.ready_at = self.on_at = self.cpu = self.seen_at = self.charged_at = None

    def ready(self, ns):
        if self.on_at is None and self.ready_at is None:
            self.ready_at = ns

    def enter(self, ns, cpu):
        self.entered += 1
        self.moved += self.cpu not in (None, cpu)
        self.on_at, self.cpu = ns, cpu
        if self.ready_at is not None:
            self.waits.append(max(0, ns - self.ready_at))
        self.ready_at = None

    def leave(self, ns, goes_on):
        if self.on_at is not None:
            self.stays.append(ns - self.on_at)
        self.on_at = None
        self.preempted += goes_on
        self.ready_at = ns if goes_on else None


class Spans:
    """All threads of the given names, and the span of time in which they were seen."""

    def __init__(self, names):
        self.names = names
        self.threads = {}
        self.first = self.last = None

    def thread(self, tid, name):
        thread = self.threads.get(tid)
        if thread is None:
            thread = self.threads[tid] = Thread()
        thread.name = name
        return thread

    def wanted(self, tid, name):
        return tid != 0 and (not self.names or name in self.names)

    def seen(self, thread, ns):
        thread.seen_at = ns
        self.first = ns if self.first is None else min(self.first, ns)
        self.last = ns if self.last is None else max(self.last, ns)

    def take(self, event):
        if isinstance(event, Switch):
            self.switch(event)
        elif not self.wanted(event.tid, event.name):
            return
        elif isinstance(event, Charge):
            self.charge(event)
        else:
            self.thread(event.tid, event.name).ready(event.ns)

    def switch(self, event):
        if self.wanted(event.tid, event.name):
            thread = self.thread(event.tid, event.name)
            thread.leave(event.ns, event.goes_on)
            self.seen(thread, event.ns)
        if self.wanted(event.next_tid, event.next_name):
            thread = self.thread(event.next_tid, event.next_name)
            thread.enter(event.ns, event.cpu)
            self.seen(thread, event.ns)

    def charge(self, event):
        """Some guests lose events that fire in idle: a thread that is charged although nobody saw
        it come has come when the charge began."""
        thread = self.thread(event.tid, event.name)
        if thread.on_at is None:
            came = event.ns - event.runtime
            if thread.ready_at is None or thread.ready_at > came:
                thread.ready_at = came
            thread.enter(came, event.cpu)
            self.seen(thread, came)
        thread.charged_at = event.ns

    def close(self):
        """A stay that is under way when the recording ends lasts until its last charge."""
        for thread in self.threads.values():
            if thread.on_at is not None and (thread.charged_at or 0) > thread.on_at:
                self.seen(thread, thread.charged_at)
                thread.leave(thread.charged_at, goes_on=False)

    def figures(self):
        """The window in s, and figures per thread name."""
        if self.first is None:
            raise SystemExit("judge: no thread of these names in the recording")
        self.close()
        window = max(self.last - self.first, 1)
        groups = {}
        for thread in self.threads.values():
            groups.setdefault(thread.name, []).append(thread)
        return {
            "window_s": window / 1e9,
            "groups": {name: group_figures(t, window / 1e9) for name, t in sorted(groups.items())},
            # When the first of its threads fell silent for good, as a share of the window.
            "silent_after": {
                name: min(((t.seen_at or self.first) - self.first) / window for t in threads)
                for name, threads in sorted(groups.items())
            },
        }


def group_figures(threads, seconds):
    """Figures of the threads that have one name."""
    stays = [v for t in threads for v in t.stays]
    waits = [v for t in threads for v in t.waits]
    return {
        "threads": sum(1 for t in threads if t.entered),
        "share": sum(stays) / 1e9 / seconds,
        "switches": sum(t.entered for t in threads) / seconds,
        "preempts": sum(t.preempted for t in threads) / seconds,
        "migrations": sum(t.moved for t in threads) / seconds,
        **ranks_of(waits, "wait"),
        **ranks_of(stays, "slice"),
    }


def at_rank(ordered, share):
    """The value below which `share` of an ordered list lies, between neighbors by proportion."""
    place = share * (len(ordered) - 1)
    below = ordered[int(place)]
    above = ordered[min(int(place) + 1, len(ordered) - 1)]
    return below + (above - below) * (place - int(place))


def ranks_of(values, name):
    """Mean and ranks of spans, in ms."""
    ms = sorted(v / 1e6 for v in values) or [0.0]
    return {
        f"{name}_mean": statistics.fmean(ms),
        f"{name}_p50": at_rank(ms, 0.50),
        f"{name}_p95": at_rank(ms, 0.95),
        f"{name}_max": ms[-1],
    }
