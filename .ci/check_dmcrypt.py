"""Checks what the dm-crypt scenarios must show, as far as they do (docs/WORKQUEUE.md has the rest)."""
import json
import sys

results = {r["scenario"]: r for r in map(json.loads, open(sys.argv[1]))}
high, med, low = (
    {v["name"]: v for v in results[f"workqueue-{load}"]["variants"]} for load in ("high", "med", "low"))
N_CPUS = 24


def mean(variant, metric):
    return variant["metrics"][metric]["mean"]


def change(variants, name):
    return mean(variants[name], "bandwidth") / mean(variants["SYSTEM"], "bandwidth") - 1


def published(variants, name):
    rows = {n: r["value"] for n, v in variants.items()
            for r in v["published"] if r["metric"] == "bandwidth"}
    return rows[name] / rows["SYSTEM"] - 1


def per_cpu(variants):
    return mean(variants["SYSTEM"], "bandwidth") / (mean(variants["SYSTEM"], "cpu_pct") / 100)


for name, v in high.items():
    assert abs(change(high, name)) < 0.015, f"HIGH {name}: {change(high, name):+.2%}"
    assert mean(v, "cpu_pct") / N_CPUS > 98.5, f"HIGH {name}: {mean(v, 'cpu_pct') / N_CPUS} %"
for load in (high, med, low):
    base = load["SYSTEM"]
    for row in base["published"]:
        off = mean(base, row["metric"]) / row["value"] - 1
        assert abs(off) < 0.025, f"SYSTEM: {row['metric']} is {off:+.2%} off"

# MED: the order of the five in both columns, the use of CPUs, and the changes of bandwidth. With fio in a group
# (docs/CALIBRATION.md says by what that was decided) all four are within 3 points. With fio in the root group SYSTEM+LOCAL
# loses 3.2 points too little since the kernel's own threads run beside it; the others are within 3.
for metric in ("bandwidth", "cpu_pct"):
    order = sorted(med, key=lambda name: -mean(med[name], metric))
    assert order == ["SYSTEM", "CACHE", "CACHE+STRICT", "SYSTEM+LOCAL", "CACHE+LOCAL"], (metric, order)
roots = {r["scenario"]: r for r in map(json.loads, open(sys.argv[2]))}
in_root, low_in_root = (
    {v["name"]: v for v in roots[f"workqueue-{load}"]["variants"]} for load in ("med", "low"))
names = ("CACHE", "CACHE+STRICT", "SYSTEM+LOCAL", "CACHE+LOCAL")
for load, among in ((med, names), (in_root, ("CACHE", "CACHE+STRICT", "CACHE+LOCAL"))):
    for name in among:
        off = change(load, name) - published(load, name)
        assert abs(off) < 0.03, f"MED {name}: {off:+.2%} off"
for load, bound in ((high, 1), (med, 2.5)):
    for name, v in load.items():
        (value,) = (r["value"] for r in v["published"] if r["metric"] == "cpu_pct")
        off = (mean(v, "cpu_pct") - value) / N_CPUS
        assert abs(off) < bound, f"{name}: CPU use is {off:+.2f} points off"

# Fewer issuers, less SMT sharing: published are 54.8, 49.4 and 48.6 MiB/s of a busy CPU.
assert per_cpu(low) > per_cpu(med) > per_cpu(high)
for load, value in ((low, 54.8), (med, 49.4), (high, 48.6)):
    assert abs(per_cpu(load) / value - 1) < 0.03, per_cpu(load)

# In LOW, who is bound to caches loses, and by CPUs that idle while work waits.
order = sorted(low, key=lambda name: -mean(low[name], "bandwidth"))
assert order[:2] == ["SYSTEM", "CACHE"], order
# A strict worker may not run on the CPUs that idle elsewhere, which is no waste by the metric: there
# the idle CPUs themselves must account for most of the loss.
# CACHE+LOCAL has three times SYSTEM's waste with fio in the root group, where that bound comes from. In a group it
# has 2.8 to 3.1, by the seeds (2.9 with twenty).
for load, bound in ((low, 2.5), (low_in_root, 3)):
    for name in order[1:]:
        waits = mean(load[name], "idle_while_runnable") / mean(load["SYSTEM"], "idle_while_runnable")
        strict = name == "CACHE+STRICT"
        least = 1.5 if strict else bound if name == "CACHE+LOCAL" else 3
        assert waits > least, f"LOW {name}: {waits:.1f} times SYSTEM's idle_while_runnable"
        if strict:
            idler = 1 - mean(load[name], "cpu_pct") / mean(load["SYSTEM"], "cpu_pct")
            assert idler > 0.6 * -change(load, name), f"LOW {name}: {idler:.1%} less CPU use"
print("dm-crypt is as promised")
