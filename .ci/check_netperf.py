"""Checks what the netperf scenarios must show: baselines, and where the cycles spin."""
import json
import sys

results = {r["scenario"]: r for r in map(json.loads, open(sys.argv[1]))}
assert len(results) == 9, sorted(results)


def mean(variant, metric):
    return variant["metrics"][metric]["mean"]


for name, result in results.items():
    base = next(v for v in result["variants"] if v["baseline"])
    for published in base["published"]:
        off = mean(base, published["metric"]) / published["value"] - 1
        assert abs(off) < 0.03, f"{name}: baseline {published['metric']} is {off:+.2%} off"

without, queue = results["ice-lake"]["variants"]
spins = {site: mean(queue, f"spin_pct.{site}") for site in
         ("ttwu_enqueue_swq", "pick_remove_swq", "dequeue_remove_swq")}
ratio = spins["ttwu_enqueue_swq"] / (spins["pick_remove_swq"] + spins["dequeue_remove_swq"])
assert 75 < mean(queue, "spin_pct") < 90, mean(queue, "spin_pct")
assert 0.9 < ratio < 1.2, ratio
assert mean(without, "spin_pct") < 10
assert mean(queue, "throughput") < 0.8 * mean(without, "throughput")
print("netperf is as promised")
