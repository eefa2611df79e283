"""schedlab from notebooks: scenarios become data frames, sweeps are done in units.

Everything is done by the program `schedlab`, which is found by the variable SCHEDLAB or on the PATH.
"""

import io
import json
import os
import shutil
import subprocess

import pandas

__all__ = ["Error", "Sweep", "program", "run"]


class Error(Exception):
    """What the program complained about."""


def program():
    """The path of the program."""
    found = os.environ.get("SCHEDLAB") or shutil.which("schedlab")
    if not found:
        raise Error("there is no program `schedlab` on the PATH, and SCHEDLAB does not name one")
    return found


def run(scenario, *, seeds=None, variants=(), set=None, machines=(), jobs=None):
    """Runs a scenario; gives a data frame with one row per sample.

    `scenario` is a file, the name of a scenario that comes with schedlab, or the text of one. `set`
    puts values in place of the scenario's, by key; `machines` are run on instead of its own.
    """
    scenario, text = _input(scenario)
    options = _options(seeds, variants, set, machines)
    if jobs is not None:
        options += ["--jobs", str(jobs)]
    return _frame(_output(scenario, *options, "--format", "csv", "--quiet", text=text))


class Sweep:
    """A sweep in units, in its folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    @classmethod
    def plan(cls, scenario, *, out, seeds=None, variants=(), set=None, machines=()):
        """Lists the units of a scenario in the folder `out`; the same again changes nothing."""
        scenario, text = _input(scenario)
        options = _options(seeds, variants, set, machines)
        _output("sweep", "plan", scenario, "--out", str(out), *options, "--quiet", text=text)
        return cls(out)

    def run(self, *, jobs=None):
        """Does what is missing, on this computer."""
        options = [] if jobs is None else ["--jobs", str(jobs)]
        _output("sweep", "run", self.folder, *options, "--quiet")

    def unit(self, *names):
        """Does the units of these names."""
        if names:
            _output("sweep", "unit", self.folder, *names, "--quiet")

    def missing(self):
        """Names of the units that are neither done nor have failed."""
        return _output("sweep", "status", self.folder, "--format", "missing").split()

    def status(self):
        """How many units are done and missing, and which have failed."""
        return json.loads(_output("sweep", "status", self.folder, "--format", "json"))

    def merge(self, *, out=None):
        """Writes the results into a folder, the sweep's own by default; gives all samples."""
        options = [] if out is None else ["--out", str(out)]
        merge = ("sweep", "merge", self.folder, "--format", "csv", "--quiet")
        return _frame(_output(*merge, *options))


def _input(scenario):
    """A scenario as an argument, and the text of standard input."""
    scenario = os.fspath(scenario)
    return ("-", scenario) if "\n" in scenario else (scenario, None)


def _options(seeds, variants, set, machines):
    options = [] if seeds is None else ["--seeds", str(seeds)]
    for variant in variants:
        options += ["--variant", variant]
    for key, value in (set or {}).items():
        options += ["--set", f"{key}={_toml(value)}"]
    for machine in machines:
        options += ["--machine", os.fspath(machine)]
    return options


def _toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value))
    return str(value)


def _output(*args, text=None):
    """What the program prints; an error if it complains."""
    done = subprocess.run([program(), *args], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise Error(done.stderr.strip())
    return done.stdout


def _frame(csv):
    # The name of a variant or policy may be a word that pandas takes for a missing value.
    return pandas.read_csv(io.StringIO(csv), keep_default_na=False)
