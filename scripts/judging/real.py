"""What the real kernel did: figures that are kept, recordings, and counters of a patched kernel."""

import json
import re
import statistics
from pathlib import Path

from .reduction import median_of, reduce_file, spread_of


def recordings(name, folder):
    """Files in `folder` that are recordings of NAME.json."""
    pattern = re.compile(re.escape(name) + r"(\.perf)?(\.\d+)?\.txt(\.xz)?")
    there = Path(folder).iterdir() if Path(folder).is_dir() else []
    return sorted(path for path in there if pattern.fullmatch(path.name))


def kept_figures(name, folder):
    """Figures of all recordings, of which perhaps only the first is kept: NAME.figures.json, or
    NAME.json with "groups" in it (without, it is an rt-app file)."""
    for path in (Path(folder) / f"{name}.figures.json", Path(folder) / f"{name}.json"):
        if path.exists():
            content = json.loads(path.read_text())
            if "groups" in content:
                return content
    return None


def counters(name, folder):
    """What the kernel's counters gained in each recording of a file: medians over recordings, from
    counts.txt: lines `# NAME.N.before` and `# NAME.N.after`, each followed by `counter value`. Only
    the first value of a counter belongs to the line above; more are of recordings without one."""
    path = Path(folder) / "counts.txt"
    if not path.exists():
        return None
    tables, table = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            table = tables.setdefault(line[2:].strip(), {})
        elif table is not None and line.strip():
            key, value = line.split()
            table.setdefault(key, int(value))
    gains = []
    for head, after in tables.items():
        before = tables.get(head.removesuffix("after") + "before")
        if re.fullmatch(re.escape(name) + r"\.\d+\.after", head) and before:
            gains.append({key: after[key] - before[key] for key in after})
    if not any(value for gain in gains for value in gain.values()):
        return None
    medians = {key: statistics.median(gain[key] for gain in gains) for key in gains[0]}
    return {**medians, "spread": spread_of(gains)}


def real_run(app, folder, llc_of=None, stated=None):
    """All that is known of the real runs of a file. Kept figures go before those of the
    recordings, for they may be of more recordings than are there; only a recording tells where
    wake-ups went."""
    kept = json.loads(Path(stated).read_text()) if stated else kept_figures(app.name, folder)
    found = recordings(app.name, folder)
    if not kept and not found:
        raise SystemExit(f"judge: no recording of {app.name} in {folder}")
    runs = []
    if found and (not kept or "wakeups" not in kept):
        runs = [reduce_file(path, app.threads, llc_of) for path in found]
    result = median_of(runs) if runs else {}
    result.update(kept or {})
    counted = counters(app.name, folder)
    if counted:
        result["counters"] = counted
    return result
