"""Tests of the judge: python3 -m unittest discover -s scripts/judging -t scripts"""

import json
import tempfile
import tomllib
import unittest
from pathlib import Path
from types import SimpleNamespace

from judging import manifest, simulate, tables
from judging.agreement import verdicts, within
from judging.events import Charge, Switch, Wake, events
from judging.real import counters, real_run
from judging.reduction import median_of, reduce
from judging.rtapp import RtApp
from judging.wakeups import Batches

US = 1_000


def switch(us, cpu, before, after, state="S"):
    """A line of a switch; a thread is `name pid`."""
    (name, pid), (next_name, next_pid) = before.split(), after.split()
    return (f"{name} {pid} [{cpu:03}] {us / 1e6:.6f}: sched:sched_switch: prev_comm={name} "
            f"prev_pid={pid} prev_prio=120 prev_state={state} ==> next_comm={next_name} "
            f"next_pid={next_pid} next_prio=120")


def wake(us, cpu, kind, task, target):
    name, pid = task.split()
    return (f"<idle> 0 [{cpu:03}] {us / 1e6:.6f}: sched:sched_{kind}: comm={name} pid={pid} "
            f"prio=120 target_cpu={target:03}")


IDLE = "swapper 0"
LLCS = {0: 0, 1: 0, 2: 1, 3: 1}


class Events(unittest.TestCase):
    def test_lines_become_events_and_others_are_passed_over(self):
        lines = [
            "# a comment",
            switch(1.5, 3, "my-task 7", IDLE, "R+"),
            wake(2, 0, "waking", "b 8", 1),
            "b 8/8 [001] 0.000003: sched_stat_runtime: comm=b pid=8 runtime=500 [ns]",
            "b 8 [001] 0.000004: sched:sched_process_exit: comm=b pid=8 prio=120",
        ]
        self.assertEqual(list(events(lines)), [
            Switch(2_000, 3, "my-task", 7, True, "swapper", 0),
            Wake(2_000, 0, "sched_waking", "b", 8, 1),
            Charge(3_000, 1, "b", 8, 500),
        ])


class Figures(unittest.TestCase):
    def test_waits_stays_and_moves(self):
        lines = [
            wake(0, 0, "waking", "a 5", 0),
            switch(10, 0, IDLE, "a 5"),
            switch(30, 0, "a 5", IDLE, "R"),
            switch(50, 1, IDLE, "a 5"),
            switch(110, 1, "a 5", IDLE),
        ]
        row = reduce(lines, ["a"])["groups"]["a"]
        self.assertEqual(row["threads"], 1)
        self.assertAlmostEqual(row["share"], 0.8)
        self.assertAlmostEqual(row["wait_mean"], 0.015)
        self.assertAlmostEqual(row["slice_p50"], 0.040)
        self.assertAlmostEqual(row["preempts"], 1e4)
        self.assertAlmostEqual(row["migrations"], 1e4)

    def test_a_stay_without_an_end_lasts_until_its_last_charge(self):
        charge = "a 5 [000] 0.000090: sched:sched_stat_runtime: comm=a pid=5 runtime=80000 [ns]"
        run = reduce([switch(10, 0, IDLE, "a 5"), charge], ["a"])
        self.assertAlmostEqual(run["groups"]["a"]["slice_mean"], 0.08)
        self.assertEqual(run["silent_after"], {"a": 1.0})

    def test_a_stay_whose_start_was_lost_began_with_the_charge(self):
        charge = "a 5 [000] 0.000090: sched:sched_stat_runtime: comm=a pid=5 runtime=80000 [ns]"
        run = reduce([charge, switch(90, 0, "a 5", IDLE)], ["a"])
        self.assertAlmostEqual(run["groups"]["a"]["slice_mean"], 0.08)


class WakeUps(unittest.TestCase):
    def row(self, lines):
        run = reduce([switch(0, 0, IDLE, "a 5"), switch(1, 0, "a 5", IDLE), *lines], ["a"], LLCS)
        [(row, entry)] = run["wakeups"].items()
        [place] = [p for p, share in entry["share"].items() if share == 1.0]
        return row, place

    def test_by_a_timer_on_an_idle_cpu(self):
        lines = [wake(5, 0, "waking", "a 5", 0), wake(6, 0, "wakeup", "a 5", 0)]
        self.assertEqual(self.row(lines), ("waker on prev, idle; prev idle; LLC has idle", "prev"))

    def test_from_the_other_llc_to_one_that_is_full(self):
        busy = [switch(2, cpu, IDLE, f"x {90 + cpu}") for cpu in (0, 1, 2)]
        lines = [*busy, wake(5, 2, "waking", "a 5", 0), wake(6, 2, "wakeup", "a 5", 3)]
        row = "waker far, busy; prev busy; LLC is full, waker's has idle"
        self.assertEqual(self.row(lines), (row, "wllc"))

    def test_places(self):
        for target, place in [(0, "prev"), (1, "llc"), (2, "waker"), (3, "wllc")]:
            lines = [wake(5, 2, "waking", "a 5", 0), wake(6, 2, "wakeup", "a 5", target)]
            self.assertEqual(self.row(lines)[1], place)

    def test_a_task_that_has_not_left_its_cpu(self):
        lines = [switch(2, 0, IDLE, "a 5"), wake(5, 1, "waking", "a 5", 0),
                 wake(6, 0, "wakeup", "a 5", 0)]
        self.assertEqual(self.row(lines)[0], "waker near, idle; prev still runs it; LLC has idle")

    def test_batches(self):
        batches = Batches(set())
        for us in (0, 4, 8, 20, 40, 44):
            batches.take(Wake(us * US, 1, "sched_waking", "a", 5, 1))
        result = batches.result()
        self.assertEqual(result["n"], 6)
        self.assertAlmostEqual(result["together"], 5 / 6)


class Medians(unittest.TestCase):
    def test_rows_that_are_rare_in_a_run_do_not_count(self):
        def run(n, share):
            shares = {p: share if p == "prev" else 0.0 for p in tables.PLACES}
            return {"window_s": 1.0, "groups": {"a": {"share": share}},
                    "wakeups": {"row": {"n": n, "share": shares}}}
        result = median_of([run(100, 1.0), run(3, 0.0), run(50, 0.8)])
        self.assertEqual(result["wakeups"]["row"]["n"], 50)
        self.assertAlmostEqual(result["wakeups"]["row"]["share"]["prev"], 0.9)
        self.assertAlmostEqual(result["groups"]["a"]["share"], 0.8)
        self.assertAlmostEqual(result["groups"]["a"]["spread"]["share"], 1.0)


class Agreement(unittest.TestCase):
    def test_factors_go_both_ways(self):
        self.assertTrue(within(100.0, 149.0, 1.5, 2.0))
        self.assertFalse(within(100.0, 151.0, 1.5, 2.0))
        self.assertFalse(within(151.0, 100.0, 1.5, 2.0))
        self.assertTrue(within(0.5, 2.0, 1.5, 2.0))
        self.assertFalse(within(5.0, 0.0, 1.5, 2.0))
        self.assertTrue(within(5.0, 0.0, 1.5, 2.0, spread=6.0))

    def test_a_missing_group_disagrees_everywhere(self):
        row = dict.fromkeys(["share", "switches", "wait_mean", "wait_p50", "wait_p95",
                             "slice_mean", "migrations", "preempts"], 10.0)
        found = list(verdicts("f", {"groups": {"a": row}}, {"groups": {}}))
        self.assertEqual(tables.summary(found),
                         {"figures": (0, 6), "migrations": (0, 1), "preempts": (0, 1)})

    def test_what_is_lost_is_summed(self):
        real = {"enq": 2000, "call": 1800, "empty": 1000, "hit": 600, "lost_run": 180,
                "lost_cpu": 0, "lost_gone": 20}
        sim = {"enq": 1040, "call": 900, "empty": 500, "hit": 200, "lost": 200}
        found = list(verdicts("f", {"window_s": 2.0, "groups": {}, "counters": real},
                              {"window_s": 1.0, "groups": {}, "counters": sim}, split=True))
        self.assertEqual([(v.key, v.agrees) for v in found], [
            ("enq", True), ("call", True), ("empty", True), ("pops", True),
            ("hit", True), ("lost", False)])


RT_APP = """{ /* rt-app's own JSON */
  "tasks": { "a": { "loop": -1, "run": 10, "sleep": 10, }, "b": { "loop": 5, "run": 10 } },
  "global": { "duration": 2, "calibration": 900 } // seconds
}"""


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)

    def put(self, name, text):
        (self.dir / name).parent.mkdir(parents=True, exist_ok=True)
        (self.dir / name).write_text(text)
        return self.dir / name

    def test_rt_app_files(self):
        app = RtApp(self.put("x.json", RT_APP))
        self.assertEqual((app.name, app.threads, app.until()), ("x", ["a", "b"], "3s"))
        self.assertEqual(app.endless(), ["a"])
        self.assertEqual(app.lost({"silent_after": {"a": 0.1, "b": 0.1}}), ["a"])
        self.assertEqual(app.lost({"silent_after": {"a": 0.99, "b": 0.1}}), [])

    def test_kept_figures_go_before_a_recording_that_tells_the_rest(self):
        app = RtApp(self.put("rt/x.json", RT_APP))
        self.put("real/x.json", json.dumps({"runs": 3, "groups": {"a": {"share": 0.5}}}))
        self.put("real/x.perf.txt", "\n".join([
            switch(0, 0, IDLE, "a 5"), switch(1, 0, "a 5", IDLE),
            wake(5, 0, "waking", "a 5", 0), wake(6, 0, "wakeup", "a 5", 0)]))
        real = real_run(app, self.dir / "real", LLCS)
        self.assertEqual(real["groups"], {"a": {"share": 0.5}})
        self.assertEqual(sum(row["n"] for row in real["wakeups"].values()), 1)

    def test_counts_are_gains_and_their_median(self):
        self.put("counts.txt", "# x.1.before\nenq 5\nhit 1\n# x.1.after\nenq 25\nhit 4\n"
                               "enq 95\nhit 40\n"
                               "# y.1.before\nenq 25\nhit 4\n# y.1.after\nenq 99\nhit 9\n"
                               "# x.2.before\nenq 99\nhit 9\n# x.2.after\nenq 109\nhit 10\n")
        gains = counters("x", self.dir)
        self.assertEqual((gains["enq"], gains["hit"]), (15, 2))
        self.assertEqual(gains["spread"], {"enq": 10, "hit": 2})
        self.assertIsNone(counters("z", self.dir))

    def test_tunables_of_the_command_line_and_of_a_manifest_are_numbers(self):
        app = RtApp(self.put("rt/x.json", RT_APP))
        for value in [1400000, "1400000"]:
            setup = SimpleNamespace(
                machine="m.toml", policy="eevdf", rules="6.12", loop_ns=979, round_ns=None,
                until="1 s", features=["NO_NI_RANDOM"], tunables={"base_slice_ns": value})
            [variant] = tomllib.loads(simulate.scenario(app, setup))["variant"]
            self.assertEqual(variant["tunables"], {"base_slice_ns": 1400000})
            self.assertEqual(variant["features"], ["NO_NI_RANDOM"])

    def test_manifests(self):
        path = self.put("m.toml", """
            [defaults]
            policy = "cfs"
            loop_ns = 994
            [[set]]
            name = "one"
            files = "rt"
            real = "real"
            machine = "m.toml"
            features = ["NO_NI_RANDOM"]
            tunables = { base_slice_ns = 1400000 }
            at_least = { figures = 0.9 }
        """)
        [one] = manifest.read(path)
        self.assertEqual((one.policy, one.loop_ns, one.seeds), ("cfs", 994, 3))
        self.assertEqual(one.files, self.dir / "rt")
        place = "[[set]]\nname = 'x'\nfiles = 'rt'\nreal = 'r'\nmachine = 'm'\npolicy = "
        [own] = manifest.read(self.put("own.toml", place + """{
            bpf = "mine.bpf.o", rodata = { slice_ns = 5000000 }, flags = ["SCX_OPS_ENQ_LAST"] }
        """.replace("\n", " ")))
        [plain] = manifest.read(self.put("plain.toml", f"{place}'mine.bpf.o'"))
        self.assertEqual(plain.policy, {"bpf": str(self.dir / "mine.bpf.o")})
        shown = simulate.policy(own.policy)
        self.assertEqual(tomllib.loads(f"policy = {shown}")["policy"], {
            "bpf": str((self.dir / "mine.bpf.o").resolve()),
            "rodata": {"slice_ns": 5000000}, "flags": ["SCX_OPS_ENQ_LAST"]})
        self.assertEqual(simulate.policy("eevdf"), '"eevdf"')
        self.assertEqual(tomllib.loads(f"policy = {simulate.policy('x.bpf.o')}")["policy"],
                         {"bpf": str(Path("x.bpf.o").resolve())})
        for wrong in ["[[sets]]\n", "[[set]]\nname = 'x'\nspeed = 1\n", "[[set]]\nname = 3\n",
                      "[[set]]\nname = 'x'\n",
                      f"{place}{{ o = 1 }}\n"]:
            with self.assertRaises(SystemExit):
                manifest.read(self.put("wrong.toml", wrong))


if __name__ == "__main__":
    unittest.main()
