"""Verdicts become tables."""

from .agreement import FIGURES
from .wakeups import PLACES

KINDS = ["figures", "wakeups", "migrations", "preempts", "batches", "counters"]


def mark(agrees):
    return " " if agrees else "!"


def figure_table(found):
    """One line per thread name: real and simulated, ! where they disagree."""
    names = [key for key, *_ in FIGURES]
    lines = [f"{'file':10} {'threads':10} {'agree':>7}  " + "  ".join(f"{n:>21}" for n in names)]
    rows = {}
    for v in found:
        if v.kind == "figures":
            rows.setdefault((v.file, v.key[0]), []).append(v)
    for (file, name), row in rows.items():
        cells = [
            f"{v.real:9.3f} {'none' if v.sim is None else format(v.sim, '.3f'):>9} {mark(v.agrees)}"
            for v in row
        ]
        good = sum(v.agrees for v in row)
        lines.append(f"{file:10} {name:10} {good:>3}/{len(row):<3}  " + "  ".join(cells))
    return lines


def share_text(entry):
    if entry["share"] is None:
        return f"{entry['n']:7.0f}  " + "    -" * len(PLACES)
    return f"{entry['n']:7.0f}  " + "".join(f"{100 * entry['share'][p]:5.0f}" for p in PLACES)


def wakeup_table(found):
    """One line per situation: number and shares by place, real and simulated."""
    rows = [v for v in found if v.kind == "wakeups"]
    if not rows:
        return []
    head = f"{'number':>7}  " + "".join(f"{p:>5}" for p in PLACES)
    lines = ["where wake-ups went, %; recorded | simulated", f"{'':90} {head} | {head}"]
    for v in rows:
        text = f"{v.file:10} {v.key}"
        lines.append(f"{text:90} {share_text(v.real)} | {share_text(v.sim)} {mark(v.agrees)}")
    return lines


def rate_table(found):
    """Per second, by thread name; batches in percent of wake-ups; counters as they are."""
    lines = []
    for kind, title, scale in [
        ("migrations", "migrations per second", 1), ("preempts", "preemptions per second", 1),
        ("batches", "wake-ups that come together, %", 100), ("counters", "counters per second", 1),
    ]:
        rows = [v for v in found if v.kind == kind]
        if rows:
            lines.append(f"{title}; recorded, simulated")
        for v in rows:
            sim = "none" if v.sim is None else format(scale * v.sim, ".1f")
            lines.append(f"  {v.file:10} {v.key:12} {scale * v.real:10.1f} {sim:>10} {mark(v.agrees)}")
    return lines


def summary(found):
    """How many of each kind agree: kind -> (agreeing, compared)."""
    return {
        kind: (sum(v.agrees for v in found if v.kind == kind),
               sum(1 for v in found if v.kind == kind))
        for kind in KINDS
        if any(v.kind == kind for v in found)
    }


def summary_table(sets):
    """One line per set, and the total."""
    total = {}
    for _name, counts in sets:
        for kind, (good, all_) in counts.items():
            was = total.get(kind, (0, 0))
            total[kind] = (was[0] + good, was[1] + all_)
    lines = [f"{'agree of compared':28} " + " ".join(f"{kind:>11}" for kind in KINDS)]
    for name, counts in [*sets, ("all", total)]:
        cells = (f"{counts[k][0]} of {counts[k][1]}" if k in counts else "-" for k in KINDS)
        lines.append(f"{name:28} " + " ".join(f"{cell:>11}" for cell in cells))
    return lines


def as_json(found):
    """For other programs."""
    return [
        {"kind": v.kind, "file": v.file, "key": v.key, "real": v.real, "sim": v.sim,
         "agrees": v.agrees}
        for v in found
    ]
