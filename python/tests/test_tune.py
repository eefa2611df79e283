"""`schedlab sweep tune` with Optuna against the real program, which SCHEDLAB names."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import schedlab

HAS_OPTUNA = importlib.util.find_spec("optuna") is not None

# Two servers that take 1 ms for a request on average, and requests at random: with 1000 of them per
# second half of the time is used, and the mean wait is C / (2000 - 1000) s with Erlang's C = 1/3.
# So the highest load that waits no longer than that is known in closed form.
QUEUE = """title = "M/M/2"
policy = "fifo"
machine = "pack:1 l3:1 core:2 pu:1"
workload = { kind = "mm-c", service_ns = 1_000_000, rate = 500 }
run = { seeds = 2, until = "20s" }
variant = [{ name = "fifo" }]
[tune]
maximize = "cpu_pct"
while = ["wakeup_latency_mean < 333 us"]
rate = { range = [50, 1950] }
"""


class Space(unittest.TestCase):
    """What is said, line by line."""

    @unittest.skipUnless(HAS_OPTUNA, "Optuna is not installed")
    def test_points_are_of_the_space_and_the_same_for_the_same_seed(self):
        from schedlab import tune

        space = [
            {"name": "hz", "choices": 3},
            {"name": "n", "whole": True, "low": 1, "high": 8, "log": True},
            {"name": "x", "whole": False, "low": 0.5, "high": 1.5, "log": False},
        ]
        lines = [{"space": space, "directions": ["minimize"], "seed": 7}]
        for _ in range(6):
            lines += [{"ask": 4}, {"tell": [{"values": [n], "excess": [n - 2]} for n in range(3)] + [None]}]
        lines = [json.dumps(line) for line in lines]
        said = list(tune.answers(lines))
        self.assertIn("Optuna", said[0]["optimizer"])
        for answer in said[1::2]:
            self.assertEqual(len(answer["points"]), 4)
            for hz, n, x in answer["points"]:
                self.assertTrue(hz in range(3) and n in range(1, 9) and 0.5 <= x <= 1.5)
        self.assertEqual(said, list(tune.answers(lines)))


@unittest.skipUnless(HAS_OPTUNA, "Optuna is not installed")
class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = f"{self.folder}/queue.toml"
        with open(self.file, "w") as scenario:
            scenario.write(QUEUE)

    def command(self, out, *options):
        tune = [schedlab.program(), "sweep", "tune", self.file, "--out", f"{self.folder}/{out}"]
        return [*tune, "--points", "32", "--quiet", "--format", "json", *options]

    def tune(self, out, *options):
        environment = {**os.environ, "SCHEDLAB_PYTHON": sys.executable}
        done = subprocess.run(
            self.command(out, *options), env=environment, capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_optimum_of_a_queue_is_found(self):
        said = self.tune("a")
        found = json.loads(said)
        best = found["points"][found["best"]]
        # So many seconds of two seeds tell the mean wait to within some percent.
        self.assertAlmostEqual(int(best["at"]["rate"]), 1000, delta=50)
        self.assertLess(best["metrics"]["wakeup_latency_mean"]["mean"], 333)
        self.assertAlmostEqual(found["fresh"]["metrics"]["cpu_pct"]["mean"], 100, delta=5)
        self.assertEqual((len(found["points"]), found["runs"]), (32, 2 * 33 + 2 * 10))
        # The same whatever the jobs, and in another folder; another seed is another search.
        self.assertEqual(self.tune("b", "--jobs", "1"), said)
        self.assertNotEqual(json.loads(self.tune("a", "--search-seed", "2"))["points"], found["points"])

    def test_a_search_that_was_killed_goes_on(self):
        environment = {**os.environ, "SCHEDLAB_PYTHON": sys.executable}
        runs = f"{self.folder}/a/runs"
        command = self.command("a", "--jobs", "1")
        child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        while child.poll() is None and (not os.path.isdir(runs) or len(os.listdir(runs)) < 20):
            time.sleep(0.005)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        done = {name: os.stat(f"{runs}/{name}").st_mtime_ns for name in os.listdir(runs)}
        self.assertGreaterEqual(len(done), 20)
        self.assertEqual(self.tune("a"), self.tune("b"))
        for name, time_ns in done.items():
            if not name.startswith("."):
                self.assertEqual(os.stat(f"{runs}/{name}").st_mtime_ns, time_ns, "done twice")


class Complaints(unittest.TestCase):
    def test_without_optuna_it_says_what_to_install(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/queue.toml", "w") as scenario:
                scenario.write(QUEUE)
            # A folder with a package of that name that cannot be imported.
            os.makedirs(f"{folder}/path/optuna")
            with open(f"{folder}/path/optuna/__init__.py", "w") as package:
                package.write("raise ImportError\n")
            search = os.pathsep.join([f"{folder}/path", *sys.path])
            environment = {**os.environ, "SCHEDLAB_PYTHON": sys.executable, "PYTHONPATH": search}
            tune = [schedlab.program(), "sweep", "tune", f"{folder}/queue.toml"]
            done = subprocess.run(
                [*tune, "--out", f"{folder}/a"], env=environment, capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn("Optuna is not installed", done.stderr)
            self.assertIn("pip install './python[tune]'", done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
