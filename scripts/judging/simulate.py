"""Runs rt-app files in schedlab, with as many seeds as are wanted, and reduces the traces."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .reduction import median_of, reduce_file
from .rtapp import RtApp
from .tools import run, write

SCENARIO = """# Written by scripts/judge.
title = "{name}"
machine = {machine}
policy = {policy}
{rules}
[workload]
kind = "rt-app"
file = {file}
{loop}
{round}
{cgroups}
[run]
until = "{until}"
[[variant]]
name = "judged"
features = {features}
tunables = {{ {tunables} }}
"""

# A counter of a kernel with the shared wakequeue is the sum of these of our metrics: each task that
# is appended is unlinked by its own CPU or popped by another.
COUNTERS = {
    "enq": ["picked_by_own_cpu", "pull_hits", "pull_lost"],
    "rem": ["picked_by_own_cpu"],
    "call": ["pull_attempts"],
    "empty": ["pull_empty"],
    "hit": ["pull_hits"],
    "lost_run": ["popped_but_running"],
    "lost": ["pull_lost"],
}


def cgroups(app):
    """What the groups of a file are given: NAME.cgroups beside NAME.json, if it is there."""
    beside = app.path.with_suffix(".cgroups")
    return beside.read_text() if beside.exists() else ""


def inline(value):
    """A value as TOML writes it on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {inline(of)}" for key, of in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(inline(of) for of in value) + "]"
    return json.dumps(value)


def policy(stated):
    """A policy by its name, or a sched_ext object: its file, or a table with `bpf`."""
    if isinstance(stated, str) and stated.endswith(".bpf.o"):
        stated = {"bpf": stated}
    if isinstance(stated, dict):
        stated = {**stated, "bpf": str(Path(stated["bpf"]).resolve())}
    return inline(stated)


def scenario(app, setup):
    """The scenario of one file on one machine under one kernel."""
    return SCENARIO.format(
        name=app.name,
        machine=json.dumps(str(Path(setup.machine).resolve())),
        policy=policy(setup.policy),
        rules=f'rules = "{setup.rules}"' if setup.rules else "",
        file=json.dumps(str(app.path.resolve())),
        loop=f"loop_ns = {setup.loop_ns}" if setup.loop_ns else "",
        round=f"round_ns = {setup.round_ns}" if setup.round_ns else "",
        cgroups=cgroups(app),
        until=setup.until or app.until(),
        features=inline(setup.features or []),
        # Those of the command line are text, as TOML wants it.
        tunables=", ".join(f"{key} = {value}" for key, value in (setup.tunables or {}).items()),
    )


def llcs(schedlab, machine):
    """The LLC of each CPU of a machine file, from schedlab's own drawing of it."""
    shown = run([schedlab, "topology", "show", machine], stdout=subprocess.PIPE)
    llc_of = {}
    pattern = re.compile(r"^.*\bLLC (\d+)\b.*?\bCPUs ([\d,-]+)", re.M)
    for llc, spans in pattern.findall(shown.stdout.decode()):
        for span in spans.split(","):
            first, _, last = span.partition("-")
            llc_of.update({cpu: int(llc) for cpu in range(int(first), int(last or first) + 1)})
    return llc_of


def simulate_seed(app, setup, work, seed, llc_of=None):
    """One seed: its trace, reduced."""
    file, trace = Path(work) / "judged.toml", Path(work) / "trace.txt"
    file.write_text(scenario(app, setup))
    command = [setup.schedlab, "trace", file, "--variant", "judged", "--seed", str(seed)]
    run([*command, "--perf-script", trace], stderr=subprocess.PIPE)
    return reduce_file(trace, app.threads, llc_of)


def add_counters(results, setup, work):
    """Puts counters to the results by seed. A trace has none, so the same runs are made again."""
    command = [setup.schedlab, Path(work) / "judged.toml", "--seeds", str(max(results)), "--quiet"]
    shown = run([*command, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    metrics = json.loads(shown.stdout)["variants"][0]["metrics"]
    for seed, result in results.items():
        result["counters"] = {
            key: sum(metrics[m]["values"][seed - 1] for m in names if m in metrics)
            for key, names in COUNTERS.items()
        }


def simulate_file(app, setup, llc_of=None, counted=False):
    """The median over seeds. A seed in which rt-app lost a wake-up, so that a thread slept for
    ever, is no judge of figures: the next ones stand in, up to three times as many."""
    living, lost = {}, {}
    with tempfile.TemporaryDirectory() as work:
        for seed in range(1, 3 * setup.seeds + 1):
            result = simulate_seed(app, setup, work, seed, llc_of)
            (lost if app.lost(result) else living)[seed] = result
            if len(living) == setup.seeds:
                break
        taken = living or lost
        if counted:
            add_counters(taken, setup, work)
    result = median_of(list(taken.values()))
    result["seeds_lost"] = len(lost)
    return result


def simulate(args):
    """Simulates each file and keeps its figures."""
    if not args.machine:
        raise SystemExit("judge: say which machine: --machine FILE.toml")
    Path(args.sim).mkdir(parents=True, exist_ok=True)
    llc_of = llcs(args.schedlab, args.machine)
    for file in args.files:
        app = RtApp(file)
        result = simulate_file(app, args, llc_of)
        if result["seeds_lost"]:
            print(f"judge: {app.name}: in {result['seeds_lost']} seeds a thread slept for ever",
                  file=sys.stderr)
        write(Path(args.sim) / f"{app.name}.figures.json", result)
