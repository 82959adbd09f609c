"""OnlineSVMR, what it forgets and what it asks for, beside one offline RampSVM on the same generated rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from ..harness.data import standardized
from ..harness.machine import say
from ..harness.report import NONE, head, markdown, number
from ..harness.run import Data, Run

ROWS, TEST_ROWS = 10_000, 10_000
GRID_ROWS = 4_000
GRID = {"C": [0.1, 1, 10, 50, 100], "gamma": [0.25, 1, 4, 16]}
RAMP_END = -1.0
SETS = {"NCheckerboard": ("make_checkerboard", 0.15), "Gauss": ("make_gaussians", 0.0)}
NAMES = tuple(SETS)
# Accuracy in % and support vectors that Wang and Vucetic print for 10,000 rows
PAPER = {
    "NCheckerboard": {
        "SVC": "96.5 / 4679",
        "OnlineSVMR": "98.6 / 554",
        "OnlineSVMR, asks in the ramp": "98.0 / 987",
    },
    "Gauss": {"SVC": "81.9 / 4183", "OnlineSVMR": "81.8 / 465", "OnlineSVMR, asks in the ramp": "81.8 / 304"},
}


@dataclass(frozen=True)
class Rows:
    """Training rows with some wrong labels, clean test rows, both standardized."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def draw_rows(name: str, rows: int, test_rows: int, seed: int) -> Rows:
    """Draw one of the two sets of the paper."""
    from everlearn import datasets

    maker, noise = SETS[name]
    make = getattr(datasets, maker)
    X, y = make(rows, label_noise=noise, random_state=2 * seed)
    X_test, y_test = make(test_rows, random_state=2 * seed + 1)
    X, X_test = standardized(X, X_test)
    return Rows(X, y, X_test, y_test)


def best_parameters(rows: Rows) -> dict[str, dict[str, float]]:
    """C and gamma by 3-fold cross-validation on the noisy training rows, for each of the two losses."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    from everlearn import RampSVM

    chosen = {}
    for loss, model in (("hinge", SVC(cache_size=500)), ("ramp", RampSVM(cache_size=500))):
        search = GridSearchCV(model, GRID, cv=3).fit(rows.X[:GRID_ROWS], rows.y[:GRID_ROWS])
        chosen[loss] = dict(search.best_params_)
    return chosen


def ramp_objective(model: Any, X: np.ndarray, y: np.ndarray, C: float) -> float:
    """|w|^2 / 2 + C times the summed ramp loss over all rows, whatever the model still stores."""
    bias = float(np.ravel(getattr(model, "intercept_", 0.0))[0])
    at_support = model.decision_function(model.support_vectors_) - bias
    loss = np.clip(1 - y * model.decision_function(X), 0, 1 - RAMP_END)
    return float(np.ravel(model.dual_coef_) @ at_support / 2 + C * loss.sum())


Learn = Callable[[Any, Rows], tuple[Any, int]]  # the model and how many labels it used


def _svc(parameters: dict[str, Any], rows: Rows) -> tuple[Any, int]:
    from sklearn.svm import SVC

    return SVC(C=parameters["C"], gamma=parameters["gamma"], cache_size=parameters["cache_size"]).fit(
        rows.X, rows.y
    ), len(rows.y)


def _offline(parameters: dict[str, Any], rows: Rows) -> tuple[Any, int]:
    from everlearn import RampSVM

    return RampSVM(**parameters).fit(rows.X, rows.y), len(rows.y)


def _online(max_idle: int | None = None) -> Learn:
    def learn(parameters: dict[str, Any], rows: Rows) -> tuple[Any, int]:
        from everlearn import OnlineSVMR

        model = OnlineSVMR(max_idle=max_idle, **parameters)
        return model.partial_fit(rows.X, rows.y, classes=[-1, 1]), len(rows.y)

    return learn


def _asking(rule_name: str, *args: Any) -> Learn:
    def learn(parameters: dict[str, Any], rows: Rows) -> tuple[Any, int]:
        from everlearn import OnlineSVMR, query

        model = OnlineSVMR(**parameters)
        rule = getattr(query, rule_name)(*args)
        asked = query.learn_stream(model, rule, rows.X, rows.y, classes=[-1, 1])
        return model, len(asked)

    return learn


LEARNERS: dict[str, Learn] = {
    "SVC": _svc,
    "RampSVM": _offline,
    "OnlineSVMR": _online(),
    "OnlineSVMR, 1000 idle": _online(1000),
    "OnlineSVMR, 100 idle": _online(100),
    "OnlineSVMR, none idle": _online(0),
    "OnlineSVMR, asks in the ramp": _asking("RampRegion"),
    "OnlineSVMR, asks one of 5": _asking("RecentMargin", 5),
}


def _measure(label: str, chosen: dict[str, Any], settings: dict[str, Any], rows: Rows) -> dict[str, Any]:
    ramp = label != "SVC"
    parameters = chosen["ramp" if ramp else "hinge"] | {"cache_size": settings["cache"], "n_jobs": 1}
    start = process_time()
    model, labels = LEARNERS[label](parameters, rows)
    return {
        "cpu": process_time() - start,
        "accuracy": float(model.score(rows.X_test, rows.y_test)),
        "n_sv": len(model.support_),
        "labels": labels,
        "objective": ramp_objective(model, rows.X, rows.y, parameters["C"]) if ramp else None,
        "n_kernel_evaluations": getattr(model, "n_kernel_evaluations_", None),
    }


def run_part(run: Run) -> None:
    """All learners on the same rows in the same order, over several draws."""
    settings = run.settings
    rows_wanted = min(settings["rows"] or ROWS, ROWS)
    run.note(grid=GRID, grid_rows=GRID_ROWS)
    for name in run.missing(run.chosen(NAMES)):
        chosen = best_parameters(draw_rows(name, rows_wanted, 1, 0))
        say(f"{name}: {_parameters(chosen)}")
        result: dict[str, Any] = {
            "set": name,
            "rows": rows_wanted,
            "chosen": chosen,
            "runs": [],
            "reasons": {},
        }
        for seed in range(settings["seeds"]):
            rows = draw_rows(name, rows_wanted, TEST_ROWS, seed)
            for label in LEARNERS:
                try:
                    found = _measure(label, chosen, settings, rows)
                except Exception as error:  # a learner that fails is reported, the others go on
                    result["reasons"][label] = f"{type(error).__name__}: {error}"
                    continue
                result["runs"].append({"learner": label, "seed": seed} | found)
                say(f"{name}, seed {seed}: {label} {100 * found['accuracy']:.2f} %, {number(found['cpu'])} s")
        run.add(result)


def _parameters(chosen: dict[str, dict[str, float]]) -> str:
    return ", ".join(
        f"{loss}: C = {found['C']:g}, gamma = {found['gamma']:g}" for loss, found in chosen.items()
    )


def _column(result: dict[str, Any], label: str, what: str, relative: bool = False) -> np.ndarray | None:
    """The values over the seeds, or their ratios to those of RampSVM at the same seed."""

    def values(of: str) -> dict[int, float]:
        return {r["seed"]: r[what] for r in result["runs"] if r["learner"] == of and r[what] is not None}

    mine, offline = values(label), values("RampSVM")
    if relative:
        mine = {seed: value / offline[seed] for seed, value in mine.items() if offline.get(seed)}
    return np.array(list(mine.values())) if mine else None


def _cells(result: dict[str, Any], label: str) -> list[str]:
    def text(what: str, form: Callable[[float], str], relative: bool = False) -> str:
        values = _column(result, label, what, relative)
        return NONE if values is None else form(float(values.mean()))

    accuracy = _column(result, label, "accuracy")
    spread = NONE if accuracy is None else f"{100 * accuracy.mean():.2f} ± {100 * accuracy.std():.2f}"
    return [
        label,
        spread,
        text("n_sv", lambda v: f"{v:.0f}"),
        text("labels", lambda v: f"{v:.0f}"),
        text("n_kernel_evaluations", lambda v: f"{v:.2f}", relative=True),
        text("objective", lambda v: f"{v:.4f}", relative=True),
        text("cpu", number),
        PAPER[result["set"]].get(label, NONE),
    ]


def report(data: Data) -> str:
    """A table per data set."""
    parts = head("Ramp loss, online and offline", data)
    header = [
        "learner",
        "accuracy %",
        "SVs",
        "labels",
        "kernel values",
        "ramp objective",
        "CPU s",
        "paper % / SVs",
    ]
    for r in data["results"]:
        parts += [
            f"## {r['set']}: {r['rows']} rows; {_parameters(r['chosen'])}\n",
            markdown(header, [_cells(r, label) for label in LEARNERS]),
            *[f"- {label}: {reason}\n" for label, reason in r["reasons"].items()],
        ]
    seeds = data["settings"]["seeds"]
    parts.append(
        f"Means over {seeds} draw{'s' * (seeds != 1)}, {TEST_ROWS} clean test rows. C and gamma: 3-fold "
        f"cross-validation of SVC (hinge)\nand of RampSVM (ramp) on {GRID_ROWS} of the noisy rows at most. "
        "Kernel values, ramp objective: RampSVM = 1;\nthe objective is taken over all training rows. "
        "Bayes accuracy: 100 % (NCheckerboard), 81.51 % (Gauss).\n"
    )
    return "\n".join(parts)
