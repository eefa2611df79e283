"""When a simulated number agrees with a recorded one."""

from collections import namedtuple

# kind: what sort of number; key: which, within the file; agrees: True or False.
Verdict = namedtuple("Verdict", "kind file key real sim agrees")

# Figures per thread name: key, how far the two may be apart (share of the recorded value, or in the
# figure's own unit, whichever is more; recordings that differ more among themselves widen it).
FIGURES = [
    ("share", 0.03, 0.01),
    ("switches", 0.15, 2.0),
    ("wait_mean", 0.20, 0.10),
    ("wait_p50", 0.25, 0.10),
    ("wait_p95", 0.25, 0.50),
    ("slice_mean", 0.15, 0.10),
]
# Of wake-ups shares are compared if there are so many; those of the table within so much.
WAKEUPS_MIN = 100
SHARE_APART = 0.05
# Rates: by this factor at most, or so many a second.
MIGRATIONS_FACTOR = 1.5
PREEMPTS_FACTOR = 1.3
RATE_LEAST = 2.0
# The share of wake-ups that do not come alone: within a quarter, or one in a hundred.
TOGETHER_APART, TOGETHER_LEAST = 0.25, 0.01
# Counters per second: within this share, or so many.
COUNTERS = [("enq", 0.05), ("call", 0.15), ("empty", 0.15), ("pops", 0.30)]
# How pops divide, if the recording can tell: within this factor.
SPLIT = [("hit", 1.5), ("lost", 1.5)]
COUNTS_LEAST = 20


def near(real, sim, share, least, spread=0.0):
    return abs(sim - real) <= max(share * abs(real), least, spread)


def within(real, sim, factor, least, spread=0.0):
    """By a factor, either way."""
    if abs(sim - real) <= max(least, spread):
        return True
    return min(real, sim) > 0 and max(real, sim) <= factor * min(real, sim)


def verdicts(file, real, sim, split=False):
    """All that can be compared of one file."""
    yield from figure_verdicts(file, real["groups"], sim["groups"])
    yield from rate_verdicts(file, real["groups"], sim["groups"])
    if "wakeups" in real and "wakeups" in sim:
        yield from wakeup_verdicts(file, real["wakeups"], sim["wakeups"])
    if "batches" in sim and real.get("batches", {}).get("n", 0) >= WAKEUPS_MIN:
        a, b = real["batches"]["together"], sim["batches"]["together"]
        yield Verdict("batches", file, "together", a, b, near(a, b, TOGETHER_APART, TOGETHER_LEAST))
    if "counters" in real and "counters" in sim:
        yield from counter_verdicts(file, per_second(real), per_second(sim), split)


def figure_verdicts(file, real, sim):
    for name, row in sorted(real.items()):
        other = sim.get(name)
        for key, share, least in FIGURES:
            spread = row.get("spread", {}).get(key, 0.0)
            value = other[key] if other else None
            good = other is not None and near(row[key], value, share, least, spread)
            yield Verdict("figures", file, (name, key), row[key], value, good)


def rate_verdicts(file, real, sim):
    """Migrations and preemptions per second, by thread name."""
    for kind, factor in (("migrations", MIGRATIONS_FACTOR), ("preempts", PREEMPTS_FACTOR)):
        for name, row in sorted(real.items()):
            if kind not in row:
                continue
            value = sim[name][kind] if name in sim else None
            spread = row.get("spread", {}).get(kind, 0.0)
            good = value is not None and within(row[kind], value, factor, RATE_LEAST, spread)
            yield Verdict(kind, file, name, row[kind], value, good)


def wakeup_verdicts(file, real, sim):
    """Rows of the table of wake-ups, the frequent ones first."""
    often = [item for item in real.items() if item[1]["n"] >= WAKEUPS_MIN]
    for row, entry in sorted(often, key=lambda item: -item[1]["n"]):
        other = sim.get(row) or {"n": 0, "share": None}
        shares = other["share"]
        good = shares is not None and all(
            abs(shares[place] - share) <= SHARE_APART for place, share in entry["share"].items())
        yield Verdict("wakeups", file, row, entry, other, good)


def per_second(run):
    """Counters and their spread by the window: a recording may be shorter than its file says."""
    spread = run["counters"].get("spread", {})
    rates = {k: v / run["window_s"] for k, v in run["counters"].items() if k != "spread"}
    return {**rates, "spread": {k: v / run["window_s"] for k, v in spread.items()}}


def counter_verdicts(file, real, sim, split):
    a, b = totals(real), totals(sim)
    spread = real.get("spread", {})
    for key, share in COUNTERS:
        good = near(a[key], b[key], share, COUNTS_LEAST, spread.get(key, 0))
        yield Verdict("counters", file, key, a[key], b[key], good)
    for key, factor in SPLIT if split else []:
        good = within(a[key], b[key], factor, COUNTS_LEAST, spread.get(key, 0))
        yield Verdict("counters", file, key, a[key], b[key], good)


def totals(counters):
    """The counters that are compared; what is lost may be told by its reason."""
    reasons = ("lost_run", "lost_cpu", "lost_gone")
    lost = counters.get("lost", sum(counters.get(key, 0) for key in reasons))
    return {**counters, "lost": lost, "pops": counters["hit"] + lost}
