"""What `scripts/instructions` says of numbers beside those that were kept."""

import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

FILE = str(Path(__file__).resolve().parent / "instructions")
LOADER = importlib.machinery.SourceFileLoader("instructions", FILE)
instructions = importlib.util.module_from_spec(importlib.util.spec_from_loader("instructions", LOADER))
LOADER.exec_module(instructions)


def judged(kept, found):
    lines, good = instructions.judge(instructions.changes(kept, found))
    return [" ".join(line.split()) for line in lines], good


class Judging(unittest.TestCase):
    def test_three_percent_more_are_let_pass_and_a_little_more_is_not(self):
        kept = {"short": {"per_switch": 1000, "per_event": 100}}
        self.assertTrue(judged(kept, {"short": {"per_switch": 1030, "per_event": 100}})[1])
        lines, good = judged(kept, {"short": {"per_switch": 1031, "per_event": 100}})
        self.assertFalse(good)
        self.assertEqual(lines[0], "short per_switch 1000 1031 +3.1 %: too many")
        self.assertEqual(lines[1], "short per_event 100 100 +0.0 %")

    def test_fewer_ask_for_a_new_file(self):
        lines, good = judged({"short": {"per_switch": 1000}}, {"short": {"per_switch": 900}})
        self.assertTrue(good)
        self.assertEqual(lines, ["short per_switch 1000 900 -10.0 %: run with --write and commit the file"])

    def test_a_benchmark_that_is_not_in_the_file_fails(self):
        lines, good = judged({}, {"new": {"per_switch": 10}})
        self.assertFalse(good)
        self.assertEqual(lines, ["new per_switch - 10 is not in the file: run with --write"])


if __name__ == "__main__":
    unittest.main()
