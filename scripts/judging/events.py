"""The text of a recording becomes events: what `perf script` prints, and what schedlab writes."""

import lzma
import re
import sys
from collections import namedtuple

# `ns` and `cpu` say when and where; a wake-up's `cpu` is the waker's, `target` the wakee's.
Switch = namedtuple("Switch", "ns cpu name tid goes_on next_name next_tid")
Wake = namedtuple("Wake", "ns cpu kind name tid target")
Charge = namedtuple("Charge", "ns cpu name tid runtime")

HEAD = re.compile(r"\[(\d+)\]\s+(\d+)\.(\d+):\s+(?:sched:)?(sched_\w+):\s+(.*)")
SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> "
    r"next_comm=(.*) next_pid=(\d+) next_prio=")
TASK = re.compile(r"\bcomm=(.*) pid=(\d+)\b")
TARGET = re.compile(r"\btarget_cpu=(\d+)")
RUNTIME = re.compile(r"\bruntime=(\d+)")
WAKES = {"sched_waking", "sched_wakeup", "sched_wakeup_new"}


def events(lines):
    """Yields the events of the lines that tell of switches, wake-ups and charges."""
    for line in lines:
        head = HEAD.search(line)
        if not head:
            continue
        cpu, seconds, fraction, kind, rest = head.groups()
        ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])
        event = read_event(ns, int(cpu), kind, rest)
        if event:
            yield event


def read_event(ns, cpu, kind, rest):
    """One event, or None if the line is of another kind or is cut short."""
    if kind == "sched_switch":
        m = SWITCH.search(rest)
        if m:
            goes_on = m[3].startswith("R")
            return Switch(ns, cpu, m[1], int(m[2]), goes_on, m[4], int(m[5]))
    elif kind in WAKES:
        task, target = TASK.search(rest), TARGET.search(rest)
        if task:
            on = int(target[1]) if target else None
            return Wake(ns, cpu, kind, task[1], int(task[2]), on)
    elif kind == "sched_stat_runtime":
        task, runtime = TASK.search(rest), RUNTIME.search(rest)
        if task and runtime:
            return Charge(ns, cpu, task[1], int(task[2]), int(runtime[1]))
    return None


def open_text(path):
    """A recording as lines of text."""
    if str(path) == "-":
        return sys.stdin
    if str(path).endswith(".xz"):
        return lzma.open(path, "rt", errors="replace")
    return open(path, errors="replace")
