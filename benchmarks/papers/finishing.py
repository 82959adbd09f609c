"""One epoch of LASVM before and after the finishing step, beside SVC; and more optimization on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..harness.data import Task, load_task, one_vs_rest
from ..harness.run import Data, Run
from ..noise.data import table_task
from .common import add, done, error_of, evaluations, flat_report, timed

NAMES = ("waveform", "banana", "reuters", "usps", "usps+N", "adult")
DELTAS = (100.0, 10.0, 3.0, 1.0, 0.3, 0.1)


def waveform_task(rows: int, seed: int) -> Task:
    """The first of three waves against the others; 1,000 test rows."""
    from everlearn.datasets import make_waveform

    (X, y), (X_test, y_test) = (
        make_waveform(n, random_state=s) for n, s in ((rows, seed), (1000, 1000 + seed))
    )
    positive = y.min()
    return Task(
        "waveform", "waveform", 1, 0.05, X, one_vs_rest(y, positive), X_test, one_vs_rest(y_test, positive)
    )


def thesis_task(name: str, rows: int, seed: int) -> Task:
    """A set of table 3.1 with its C and gamma; rows of usps have unit length."""
    if name == "waveform":
        return waveform_task(min(rows, 4000), seed)
    if name.startswith("usps"):
        return replace(table_task(name, rows), C=1000 if name == "usps" else 10)
    return load_task({"adult": "a9a"}.get(name, name), rows)


def _models(task: Task, seed: int) -> dict[str, Any]:
    from sklearn.svm import SVC

    from everlearn import LASVM

    common: dict[str, Any] = {"gamma": task.gamma, "cache_size": 500, "random_state": seed, "n_jobs": 1}
    return {
        "SVC": SVC(C=task.C, gamma=task.gamma, cache_size=500),
        "LASVM x 1, not finished": LASVM(task.C, finishing=None, **common),
        "LASVM x 1": LASVM(task.C, finishing="kept", **common),
    }


def _deltas(run: Run, task: Task, seed: int) -> None:
    from everlearn import LASVM

    for epochs in (1, 2):
        for delta in (None, *DELTAS):
            learner = f"LASVM x {epochs}, " + ("as it is" if delta is None else "delta_max")
            at = {} if delta is None else {"delta_max": delta}
            if done(run, task.name, learner, seed, **at):
                continue
            options: dict[str, Any] = {"epochs": epochs, "delta_max": delta, "finishing": "kept", "n_jobs": 1}
            model = LASVM(task.C, gamma=task.gamma, random_state=seed, cache_size=500, **options)
            _, seconds = timed(model.fit, task.X_train, task.y_train)
            wrong, support = error_of(model, task.X_test, task.y_test), len(model.support_)
            add(run, task.name, learner, seed, **at, error=wrong, support=support, cpu=seconds)


def run_part(run: Run) -> None:
    """All sets; the extra optimization on banana alone, as in the thesis."""
    for seed in range(run.settings["seeds"]):
        for name in run.chosen(NAMES):
            task = thesis_task(name, run.settings["rows"], seed)
            for learner, model in _models(task, seed).items():
                if done(run, name, learner, seed):
                    continue
                _, seconds = timed(model.fit, task.X_train, task.y_train)
                wrong = error_of(model, task.X_test, task.y_test)
                support = len(model.support_)
                add(
                    run,
                    name,
                    learner,
                    seed,
                    error=wrong,
                    support=support,
                    cpu=seconds,
                    kernel=evaluations(model),
                )
            if name == "banana":
                _deltas(run, task, seed)


def report(data: Data) -> str:
    """A table for each set."""
    text = "C and gamma of the thesis (table 3.1); usps rows of unit length at gamma 1."
    return flat_report(data, "Before and after the finishing step", text, ("delta_max",))
