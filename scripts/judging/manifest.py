"""A manifest lists sets of recordings, each with the machine and the kernel that it is of."""

import concurrent.futures
import os
import tomllib
from pathlib import Path
from types import SimpleNamespace

from .agreement import verdicts
from .real import kept_figures, real_run, recordings
from .rtapp import RtApp
from .simulate import llcs, simulate_file
from .tables import KINDS, figure_table, rate_table, summary, summary_table, wakeup_table

# key: its type, and its default (`...`: must be stated).
KEYS = {
    "name": (str, ...),
    "files": (str, ...),
    "real": (str, ...),
    "machine": (str, ...),
    "policy": ((str, dict), ...),
    "rules": (str, None),
    "features": (list, []),
    "tunables": (dict, {}),
    "loop_ns": ((int, float), None),
    "round_ns": (int, None),
    "until": (str, None),
    "seeds": (int, 3),
    "only": (list, None),
    "split": (bool, False),
    "at_least": (dict, {}),
}
PATHS = ["files", "real", "machine"]


def read(path):
    """The sets of a manifest; its paths are relative to it."""
    path = Path(path)
    with open(path, "rb") as file:
        content = tomllib.load(file)
    unknown = set(content) - {"title", "defaults", "set"}
    if unknown:
        raise SystemExit(f"judge: {path}: unknown key {sorted(unknown)[0]}")
    common = content.get("defaults", {})
    return [read_set(path, {**common, **stated}) for stated in content.get("set", [])]


def read_set(path, stated):
    """One set, with its defaults."""
    where = f"{path}: set {stated.get('name', '?')}"
    for key, value in stated.items():
        if key not in KEYS:
            raise SystemExit(f"judge: {where}: unknown key {key}")
        if not isinstance(value, KEYS[key][0]):
            raise SystemExit(f"judge: {where}: {key} is of another type")
    result = {}
    for key, (_type, default) in KEYS.items():
        if key not in stated and default is ...:
            raise SystemExit(f"judge: {where}: {key} is missing")
        result[key] = stated.get(key, default)
    for key in result["at_least"]:
        if key not in KINDS:
            raise SystemExit(f"judge: {where}: at_least knows no {key}")
    for key in PATHS:
        result[key] = path.parent / result[key]
    if str(result["policy"]).endswith(".bpf.o"):
        result["policy"] = {"bpf": result["policy"]}
    if isinstance(result["policy"], dict):
        if not isinstance(result["policy"].get("bpf"), str):
            raise SystemExit(f"judge: {where}: a policy is a name, or a table with `bpf`")
        result["policy"] = {**result["policy"], "bpf": str(path.parent / result["policy"]["bpf"])}
    return SimpleNamespace(**result)


def files_of(one):
    """The rt-app files of a set that were recorded."""
    found = sorted(one.files.glob("*.json"))
    if one.only is not None:
        found = [path for path in found if path.stem in one.only]
    recorded = [p for p in found if kept_figures(p.stem, one.real) or recordings(p.stem, one.real)]
    if not recorded:
        raise SystemExit(f"judge: set {one.name}: no recording in {one.real}")
    return recorded


def judge_file(one, path):
    """One file of a set: its verdicts, and how many seeds were passed over."""
    app = RtApp(path)
    llc_of = llcs(one.schedlab, one.machine)
    real = real_run(app, one.real, llc_of)
    sim = simulate_file(app, one, llc_of, counted="counters" in real)
    return list(verdicts(app.name, real, sim, one.split)), sim["seeds_lost"]


def judge_sets(args):
    """Runs all sets of all manifests. Returns (text, verdicts by set, whether all reach what their
    `at_least` asks)."""
    sets = [one for path in args.files for one in read(path)]
    if args.sets:
        sets = [one for one in sets if any(part in one.name for part in args.sets)]
    for one in sets:
        one.schedlab = args.schedlab
    lines, by_set, good = [], [], True
    with concurrent.futures.ProcessPoolExecutor(args.jobs or os.cpu_count()) as pool:
        jobs = [(one, [(p, pool.submit(judge_file, one, p)) for p in files_of(one)])
                for one in sets]
        for one, tasks in jobs:
            found, notes = [], []
            for path, task in tasks:
                judged, lost = task.result()
                found += judged
                if lost:
                    notes.append(f"{path.stem}: in {lost} seeds a thread slept for ever; passed over")
            by_set.append((one.name, found))
            lines += set_text(one, found, notes)
            good &= reaches(one, found)
    lines += summary_table([(name, summary(found)) for name, found in by_set])
    return lines, by_set, good


def set_text(one, found, notes):
    """The tables of one set."""
    policy = one.policy if isinstance(one.policy, str) else Path(one.policy["bpf"]).name
    head = f"== {one.name}: {policy} {one.rules or ''} on {one.machine.stem}"
    return [head, *notes, *figure_table(found), *wakeup_table(found), *rate_table(found), ""]


def reaches(one, found):
    """True if of each kind in `at_least` that share agrees; without, all figures must."""
    counts = summary(found)
    wanted = one.at_least or {"figures": 1.0}
    return all(kind not in counts or counts[kind][0] >= share * counts[kind][1]
               for kind, share in wanted.items())
