"""The package against the real program, which SCHEDLAB names."""

import filecmp
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import schedlab

SCENARIO = """title = "tiny"
policy = "fifo"
machine = "pack:1 l3:1 core:2 pu:1"
workload = { kind = "mm-c", service_ns = 10_000, rate = 50_000 }
run = { seeds = 4, until = "1ms" }
variant = [{ name = "a" }, { name = "None", policy = "cfs" }]
[sweep]
rate = [40_000, 50_000]
"""
# Units of some tens of milliseconds.
SLOW = SCENARIO.replace("1ms", "500ms").replace("seeds = 4", "seeds = 15")


class Notebook(unittest.TestCase):
    def test_a_scenario_becomes_a_data_frame(self):
        frame = schedlab.run(SCENARIO, seeds=2, set={"service_ns": 9000}, variants=["None"])
        self.assertEqual(set(frame.seed), {1, 2})
        self.assertEqual(set(frame.variant), {"a", "None"})
        self.assertEqual(set(frame.rate), {40_000, 50_000})
        self.assertTrue((frame[frame.metric == "switches"].value > 0).all())

    def test_a_complaint_is_an_exception(self):
        with self.assertRaisesRegex(schedlab.Error, "did you mean"):
            schedlab.run(SCENARIO.replace("service_ns", "servise_ns"))

    def test_a_sweep_in_units_gives_the_same_frame(self):
        with tempfile.TemporaryDirectory() as folder:
            sweep = schedlab.Sweep.plan(SCENARIO, out=f"{folder}/units")
            missing = sweep.missing()
            self.assertEqual(len(missing), 16)
            sweep.unit(*missing[:3])
            self.assertEqual(sweep.status()["missing"], 13)
            sweep.run()
            self.assertTrue(sweep.merge().equals(schedlab.run(SCENARIO)))


def children(word):
    """Processes with that word in their command line: pid and parent."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                command = file.read().decode(errors="replace")
            with open(f"/proc/{pid}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if word in command and "\0unit\0" in command:
            found.append((int(pid), parent))
    return found


@unittest.skipUnless(__import__("importlib.util").util.find_spec("ray"), "Ray is not installed")
class Ray(unittest.TestCase):
    def test_killed_units_and_workers_lose_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            units, file = f"{folder}/units", f"{folder}/slow.toml"
            with open(file, "w") as scenario:
                scenario.write(SLOW)
            sweep = schedlab.Sweep.plan(file, out=units)
            submit = [schedlab.program(), "sweep", "submit", units, "--engine", "ray"]
            environment = {**os.environ, "SCHEDLAB_PYTHON": sys.executable}
            child = subprocess.Popen([*submit, "--units-per-task", "5"], env=environment)
            killed = []
            while child.poll() is None and len(killed) < 3:
                for pid, worker in children(units)[:1]:
                    # First a unit, then workers of Ray with what they do.
                    for victim in [pid] if not killed else [worker, pid]:
                        try:
                            os.kill(victim, signal.SIGKILL)
                        except ProcessLookupError:
                            pass
                    killed.append(pid)
                    time.sleep(0.3)
                time.sleep(0.01)
            self.assertEqual(child.wait(), 0)
            self.assertEqual(len(killed), 3)
            status = sweep.status()
            self.assertEqual((status["units"], status["done"], status["alarms"]), (60, 60, []))
            sweep.merge(out=f"{folder}/merged")
            local = [schedlab.program(), file, "--out", f"{folder}/local", "--quiet"]
            subprocess.run(local, check=True, stdout=subprocess.PIPE)
            for name in ["results.json", "results.csv", "curves.svg"]:
                same = filecmp.cmp(f"{folder}/merged/{name}", f"{folder}/local/{name}", shallow=False)
                self.assertTrue(same, name)


if __name__ == "__main__":
    unittest.main()
