"""One pass over a recording gives everything that is compared; several recordings their median."""

import statistics

from .events import events, open_text
from .spans import Spans
from .wakeups import PLACES, Batches, Targets

# A row of the table of wake-ups with fewer in a recording says nothing about shares.
FEW_WAKEUPS = 10


def reduce(lines, names, llc_of=None):
    """Figures per thread name, where wake-ups went (if the LLCs are known), and batches."""
    names = set(names)
    spans, batches = Spans(names), Batches(names)
    readers = [spans, batches]
    if llc_of:
        readers.append(Targets(names, llc_of))
    for event in events(lines):
        for reader in readers:
            reader.take(event)
    result = {**spans.figures(), "batches": batches.result()}
    if llc_of:
        result["wakeups"] = readers[-1].result()
    return result


def reduce_file(path, names, llc_of=None):
    """The same of a file."""
    with open_text(path) as lines:
        return reduce(lines, names, llc_of)


def median_of(runs):
    """The median of everything over recordings, and how far the figures lie apart."""
    result = {
        "window_s": statistics.median(run["window_s"] for run in runs),
        "runs": len(runs),
        "groups": groups_of([run["groups"] for run in runs]),
    }
    silent = {name for run in runs for name in run.get("silent_after", {})}
    result["silent_after"] = {
        name: min(run["silent_after"].get(name, 1.0) for run in runs) for name in sorted(silent)
    }
    if any("wakeups" in run for run in runs):
        result["wakeups"] = wakeups_of([run.get("wakeups", {}) for run in runs])
    for key in ("batches", "counters"):
        rows = [run[key] for run in runs if key in run]
        if rows:
            result[key] = {k: statistics.median(row[k] for row in rows) for k in rows[0]}
            result[key]["spread"] = spread_of(rows)
    return result


def spread_of(rows):
    return {key: max(row[key] for row in rows) - min(row[key] for row in rows) for key in rows[0]}


def groups_of(runs):
    groups = {}
    for name in sorted({name for groups in runs for name in groups}):
        rows = [groups[name] for groups in runs if name in groups]
        groups[name] = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        groups[name]["spread"] = spread_of(rows)
    return groups


def wakeups_of(runs):
    """Medians of the shares, of the recordings in which a row is not rare."""
    table = {}
    for row in sorted({row for run in runs for row in run}):
        counts = [run[row]["n"] if row in run else 0 for run in runs]
        often = [run[row]["share"] for run in runs if row in run and run[row]["n"] >= FEW_WAKEUPS]
        shares = {p: statistics.median(s[p] for s in often) for p in PLACES} if often else None
        table[row] = {"n": statistics.median(counts), "share": shares}
    return table
