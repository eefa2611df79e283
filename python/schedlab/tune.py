"""Says where `schedlab sweep tune` should look next: Optuna behind lines of JSON.

The program starts this with `python3 -m schedlab.tune` and speaks first. It describes the search,
then asks for points and tells what came of them, in turn; each line gets a line in answer:

    {"space": [{"name": "hz", "choices": 3}, ...], "directions": ["maximize"], "seed": 1}
    {"ask": 8}             ->  {"points": [[0, 1234.5], ...]}: indexes of choices, and numbers
    {"tell": [...]}        ->  {}: of the points that were asked for last; null if one cannot run
"""

from __future__ import annotations

import json
import signal
import sys
import warnings
from typing import Any, Iterable, Iterator

try:
    import optuna
except ImportError:
    sys.exit("Optuna is not installed")

Json = dict[str, Any]


class Search:
    """What is looked for, and what is known so far."""

    def __init__(self, description: Json) -> None:
        self.space: list[Json] = description["space"]
        # Random points first; of a small space no more than a fifth.
        startup = max(5, min(20, _points(self.space) // 5))
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=startup, multivariate=True, constant_liar=True, seed=description["seed"]
        )
        directions = description["directions"]
        self.study = optuna.create_study(directions=directions, sampler=sampler)
        self.asked: list[optuna.trial.Trial] = []

    def ask(self, n: int) -> list[list[float]]:
        """The next points, each a number per key."""
        self.asked = []
        points = []
        for _ in range(n):
            trial = self.study.ask()
            points.append([_suggested(trial, key) for key in self.space])
            self.asked.append(trial)
        return points

    def tell(self, told: list[Json | None]) -> None:
        """What came of them."""
        for trial, outcome in zip(self.asked, told):
            if outcome is None:
                self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            for limit, excess in enumerate(outcome["excess"]):
                trial.set_constraint(str(limit), excess)
            self.study.tell(trial, outcome["values"])
        self.asked = []


def _points(space: list[Json]) -> int:
    """How many points there are; very many if there is no end of them."""
    n = 1
    for key in space:
        n *= key.get("choices") or 1000
    return n


def _suggested(trial: optuna.trial.Trial, key: Json) -> float:
    if "choices" in key:
        return trial.suggest_categorical(key["name"], range(key["choices"]))
    suggest = trial.suggest_int if key["whole"] else trial.suggest_float
    return suggest(key["name"], key["low"], key["high"], log=key["log"])


def answers(lines: Iterable[str]) -> Iterator[Json]:
    """An answer to each line; the first one describes the search."""
    lines = iter(lines)
    search = Search(json.loads(next(lines)))
    yield {"optimizer": f"Optuna {optuna.__version__}, TPE"}
    for line in lines:
        question = json.loads(line)
        if "ask" in question:
            yield {"points": search.ask(question["ask"])}
        else:
            search.tell(question["tell"])
            yield {}


def main() -> None:
    # Ctrl-C ends the program, which has something to say about it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for answer in answers(sys.stdin):
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
