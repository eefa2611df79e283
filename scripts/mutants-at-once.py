#!/usr/bin/env python3
"""Which mutants of cargo-mutants no test notices, a hundred times faster than one by one.

    scripts/mutants-at-once.py 11/97 23/97 [--out DIR] [--seconds S]

All mutants of the shares are compiled together, each behind a switch (scripts/mutants-at-once/),
and the tests of `policies` and `sim-core` run with one at a time switched on, until one fails. A
mutant that does not compile behind a switch is compiled alone: it never does, or it is run alone.
The order is random, but always the same, so that with --seconds the first ones are a sample, too.
Needs cargo-mutants. Takes about 20 s per survivor, and a few per mutant that is caught.
"""
import argparse
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["policies", "sim-core"]
OF_PACKAGES = [arg for package in PACKAGES for arg in ("-p", package)]
SWITCH = """
#[doc(hidden)]
pub(crate) fn mutant(number: u32) -> bool {
    static ON: std::sync::LazyLock<Option<u32>> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").ok()?.parse().ok());
    *ON == Some(number)
}
"""
# Property tests draw the same cases each time, so that a mutant is caught in each run or in none.
ENV = {"PROPTEST_RNG_SEED": "1"} | os.environ | {"RUST_BACKTRACE": "0"}
ENV.pop("MUTANT", None)


def run(*args, **options):
    return subprocess.run(args, text=True, check=True, **options)


def output(*args, **options):
    return run(*args, stdout=subprocess.PIPE, **options).stdout


def listed(shares):
    """The mutants of all shares."""
    mutants = []
    for share in shares:
        text = output("cargo", "mutants", *OF_PACKAGES, "--list", "--json", "--no-shuffle",
                      "--sharding", "round-robin", "--shard", share, cwd=ROOT)
        mutants += [mutant | {"share": share} for mutant in json.loads(text)]
    return mutants


class Tree:
    """A copy of the sources, which mutants are put into."""

    def __init__(self, path, target):
        self.path, self.target = path, target
        shutil.rmtree(path, ignore_errors=True)
        self.files = [f for f in output("git", "ls-files", cwd=ROOT).splitlines()
                      if (ROOT / f).is_file()]
        for file in self.files:
            (path / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, path / file)

    def restore(self, files):
        """Files are written only if they differ, so that nothing is built in vain."""
        for file in files:
            old = (ROOT / file).read_text()
            if (self.path / file).read_text() != old:
                (self.path / file).write_text(old)

    def forget(self):
        """Property tests keep what failed: it is not for the next mutant."""
        known = set(self.files)
        for folder in ("crates/policies", "crates/sim-core"):
            for file in (self.path / folder).rglob("proptest-regressions/**/*.txt"):
                name = str(file.relative_to(self.path))
                if name not in known:
                    file.unlink()
                else:
                    self.restore([name])

    def cargo(self, *args):
        """The messages of cargo, whether it succeeds or not."""
        done = subprocess.run(
            ["cargo", *args, "--message-format", "json"], cwd=self.path, text=True, env=ENV
            | {"CARGO_TARGET_DIR": str(self.target), "RUSTFLAGS": "--cap-lints warn -Awarnings"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        messages = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
        return done.returncode == 0, messages, done.stderr


def put(tool, tree, mutants, wanted, mutants_file):
    """Writes mutants into the tree; returns those that cannot be."""
    files = sorted({mutant["file"] for mutant in mutants})
    libs = [f"crates/{package}/src/lib.rs" for package in PACKAGES]
    for file in {*files, *libs}:
        (tree.path / file).write_text((ROOT / file).read_text())
    none = output(tool, str(mutants_file), cwd=tree.path, input=" ".join(map(str, wanted)))
    for lib in libs:
        with open(tree.path / lib, "a") as file:
            file.write(SWITCH)
    return {int(number) for number in none.split()}


def owners(tree, messages):
    """The mutants that errors are about, and the errors that are about none."""
    found, others = set(), []
    for message in messages:
        if message.get("reason") != "compiler-message" or message["message"]["level"] != "error":
            continue
        mine = set()
        spans = message["message"]["spans"]
        for span in spans + [s for child in message["message"]["children"] for s in child["spans"]]:
            file = tree.path / span["file_name"]
            if file.is_file():
                mine |= around(file.read_bytes(), span["byte_start"], span["byte_end"])
        found |= mine
        if not mine and spans:
            others.append(message["message"]["rendered"])
    return found, others


def before(tree, messages):
    """The last mutant that ends before each error, in its line."""
    found = set()
    for message in messages:
        if message.get("reason") != "compiler-message" or message["message"]["level"] != "error":
            continue
        for span in message["message"]["spans"]:
            line = (tree.path / span["file_name"]).read_bytes()[:span["byte_start"]]
            ends = re.findall(rb"/\*>(\d+)\*/", line.splitlines()[-1])
            found |= {int(number) for number in ends[-1:]}
    return found


def around(text, start, end):
    """The innermost mutant around a place, or those inside of it if there is none around."""
    around, inside = [], set()
    for match in re.finditer(rb"/\*<(\d+)\*/", text):
        number = int(match[1])
        close = text.find(b"/*>%d*/" % number, match.end())
        if match.start() <= start and end <= close + 12:
            around.append((close - match.start(), number))
        elif start <= match.start() and close <= end and end - start < 2000:
            inside.add(number)
    return {min(around)[1]} if around else inside


def together(tool, tree, mutants, mutants_file):
    """Puts in all mutants that compile together; returns these and the others."""
    wanted, alone = set(range(len(mutants))), set()
    while True:
        none = put(tool, tree, mutants, sorted(wanted), mutants_file)
        wanted -= none
        alone |= none
        ok, messages, stderr = tree.cargo("check", *OF_PACKAGES)
        if ok:
            return sorted(wanted), sorted(alone)
        found, others = owners(tree, messages)
        print(f"  {len(found)} of {len(wanted)} do not compile behind a switch", flush=True)
        if not found & wanted:
            # A function that gives one of two types: the error is behind the mutant.
            found = before(tree, messages)
        if not found & wanted:
            sys.exit("\n".join(others) or stderr)
        wanted -= found
        alone |= found


def replace(tree, mutant):
    """Writes one mutant into the tree as it is."""
    lines = (ROOT / mutant["file"]).read_text().splitlines(keepends=True)
    def offset(point):
        return sum(map(len, lines[:point["line"] - 1])) + point["column"] - 1
    text = "".join(lines)
    start, end = offset(mutant["span"]["start"]), offset(mutant["span"]["end"])
    (tree.path / mutant["file"]).write_text(text[:start] + mutant["replacement"] + text[end:])


def tests(tree):
    """Builds the tests, and returns their programs."""
    ok, messages, stderr = tree.cargo("test", *OF_PACKAGES, "--no-run")
    if not ok:
        sys.exit(stderr)
    return [(message["executable"], Path(message["manifest_path"]).parent) for message in messages
            if message.get("executable") and message["profile"]["test"]]


def fails(programs, number):
    """The first test that fails with a mutant, `timeout`, or None."""
    for program, folder, limit_s in programs:
        child = subprocess.Popen([program], cwd=folder, env=ENV | {"MUTANT": str(number)},
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 process_group=0)
        alarm = threading.Timer(limit_s, os.killpg, (child.pid, signal.SIGKILL))
        alarm.start()
        failed = None
        for line in child.stdout:
            if line.startswith("test ") and line.rstrip().endswith("FAILED"):
                failed = line.split()[1]
                os.killpg(child.pid, signal.SIGKILL)
                break
        status = child.wait()
        late = not alarm.is_alive()
        alarm.cancel()
        if failed or status != 0:
            return failed or ("timeout" if late else f"status {status}")
    return None


def with_limits(programs):
    """Runs the tests without a mutant: who is quick comes first, and may take ten times that."""
    timed = []
    for program, folder in programs:
        begun = time.monotonic()
        if failed := fails([(program, folder, 3600)], -1):
            sys.exit(f"without a mutant {failed} fails")
        timed.append((time.monotonic() - begun, program, folder))
    print(f"the tests take {sum(seconds for seconds, *_ in timed):.0f} s", flush=True)
    return [(program, folder, 30 + 10 * seconds) for seconds, program, folder in sorted(timed)]


class Results:
    """What became of each mutant, kept after each one."""

    def __init__(self, out, mutants):
        self.out, self.mutants, self.rows = out, mutants, []

    def add(self, number, what, detail=""):
        mutant = self.mutants[number]
        row = {"share": mutant["share"], "name": mutant["name"], "what": what, "detail": detail}
        self.rows.append(row)
        print(f"{what:8} {mutant['name']} {detail}", flush=True)
        (self.out / "results.json").write_text(json.dumps(self.rows, indent=1))

    def tell(self):
        for share in sorted({row["share"] for row in self.rows}):
            counts = collections.Counter(r["what"] for r in self.rows if r["share"] == share)
            viable = sum(counts.values()) - counts["unviable"]
            print(f"{share}: {dict(counts)}, {counts['caught'] / max(viable, 1):.1%} of {viable}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shares", nargs="+", metavar="K/N")
    parser.add_argument("--out", type=Path, default=ROOT / "target/mutants-at-once")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    manifest = ROOT / "scripts/mutants-at-once/Cargo.toml"
    run("cargo", "build", "--quiet", "--release", "--manifest-path", str(manifest),
        "--target-dir", str(out / "tool"))
    tool = str(out / "tool/release/mutants-at-once")
    mutants = listed(args.shares)
    (out / "mutants.json").write_text(json.dumps(mutants))
    tree = Tree(out / "tree", out / "target")
    print(f"{len(mutants)} mutants", flush=True)
    both, alone = together(tool, tree, mutants, out / "mutants.json")
    print(f"{len(both)} together, {len(alone)} alone", flush=True)
    programs = with_limits(tests(tree))
    results = Results(out, mutants)
    random.Random(1).shuffle(both)
    for number in both:
        if time.monotonic() > end:
            break
        failed = fails(programs, number)
        results.add(number, "caught" if failed else "survived", failed or "")
        tree.forget()
    for number in alone:
        tree.restore(sorted({mutant["file"] for mutant in mutants}))
        replace(tree, mutants[number])
        if not tree.cargo("check", *OF_PACKAGES)[0]:
            results.add(number, "unviable")
        elif time.monotonic() < end:
            failed = fails(with_limits(tests(tree)), -1)
            results.add(number, "caught" if failed else "survived", failed or "")
            tree.forget()
    results.tell()


if __name__ == "__main__":
    main()
