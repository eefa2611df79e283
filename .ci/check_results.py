"""Checks what the main job wrote: the contract of the results, and what they must show."""
import json
import sys

results = json.load(open(sys.argv[1]))
assert results["schema"] == 1
assert results["machine"]["cpus"] == 176 and results["machine"]["llcs"] == 11
variants = {v["name"]: v for v in results["variants"]}
assert len(variants) == 4
base = next(v for v in results["variants"] if v["baseline"])


def mean(variant, metric):
    return variant["metrics"][metric]["mean"]


for published in base["published"]:
    off = mean(base, published["metric"]) / published["value"] - 1
    assert abs(off) < 0.02, f"baseline {published['metric']} is {off:+.2%} off"
for v in variants.values():
    for at in range(len(results["seeds"])):
        n = {k: v["metrics"][f"pull_{k}"]["values"][at] for k in ("attempts", "hits", "lost", "empty")}
        assert n["attempts"] == n["hits"] + n["lost"] + n["empty"], n
    for metric, delta in v.get("vs_baseline", {}).items():
        if metric == "elapsed":
            assert abs(delta["delta_pct"]) < 1.0, (v["name"], delta)
    if "SWQUEUE" in v["features"]:
        waste = v["vs_baseline"]["idle_while_runnable"]
        assert waste["ci95"][1] < 0, f"the shared wakequeue lets CPUs idle no less: {waste}"
print("results.json is as promised")
