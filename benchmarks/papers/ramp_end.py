"""Error and support vectors of LASVMNC and LASVMI against the end s of the ramp."""

from __future__ import annotations

from typing import Any

from ..harness.run import Data, Run
from ..noise.data import table_task
from .common import add, done, error_of, flat_report, timed

NAMES = ("banana", "adult", "usps+N")
ENDS = (-5.0, -3.0, -2.0, -1.0, -0.5, 0.0)


def run_part(run: Run) -> None:
    """Both learners at every end, beside LASVMG and SVC, which have no ramp."""
    from sklearn.svm import SVC

    from everlearn import LASVMG, LASVMI, LASVMNC

    for name in run.chosen(NAMES, NAMES[:1]):
        task = table_task(name, run.settings["rows"])
        for seed in range(run.settings["seeds"]):
            common: dict[str, Any] = {
                "gamma": task.gamma,
                "cache_size": 1000,
                "n_jobs": 1,
                "random_state": seed,
            }
            models: list[tuple[str, float | None, Any]] = [
                ("LASVMG", None, LASVMG(task.C, finishing="kept", **common)),
                *(("LASVMNC", s, LASVMNC(task.C, s=s, **common)) for s in ENDS),
                *(("LASVMI", s, LASVMI(task.C, s=s, **common)) for s in ENDS),
            ]
            if seed == 0:
                models.append(("SVC", None, SVC(C=task.C, gamma=task.gamma, cache_size=1000)))
            for learner, s, model in models:
                at = {} if s is None else {"s": s}
                if done(run, name, learner, seed, **at):
                    continue
                _, seconds = timed(model.fit, task.X_train, task.y_train)
                wrong = error_of(model, task.X_test, task.y_test)
                add(run, name, learner, seed, **at, error=wrong, support=len(model.support_), cpu=seconds)


def report(data: Data) -> str:
    """A table for each set."""
    return flat_report(data, "The end of the ramp", "C and gamma of table 6.2, one epoch.", ("s",))
