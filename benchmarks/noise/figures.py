"""Path-dependent figures on fixed rows in their given order, ours beside those of a plain implementation.

- wdbc: breast cancer as scikit-learn ships it, columns standardized, +1 = benign; test = train.
- banana1000: rows 0-999 of banana, test rows 4000-5299.
- usps2000, usps1000: the first training rows of usps, of unit length, +1 = digit 0; its test rows.
- +N: training labels of rows 3, 13, 23, ... flipped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..harness.data import load, standardized, unit_rows
from ..harness.machine import say
from ..harness.report import NONE, head, markdown
from ..harness.run import Data, Run
from .ramp import Rows, draw_rows, ramp_objective
from .spec import CHAPTER_6, GENERATED, OFFLINE, ONLINE, VALUES, Numbers

# A figure is as it should be if it is within the relative or the absolute tolerance
SIZE_6, DUAL, ACCURACY = (0.03, 4), (0.01, 0), (0, 0.005)
OFFLINE_OBJECTIVE, INSIDE, OFFLINE_SIZE = (1e-4, 0), (0, 2), (0, 2)
ONLINE_SIZE, ONLINE_OBJECTIVE, ASKED = (0.04, 4), (0.005, 0), (0.05, 0)
OFFLINE_TOL = 1e-6  # the plain implementation solves each round to the end
OUTLIERS = (0.05, 4)  # no tolerance is given for these
Tolerance = tuple[float, float]
GENERATED_ROWS, GENERATED_TEST = 1_000, 5_000


@cache
def rows_of(name: str) -> Rows:
    """The fixed rows by name."""
    if name == "wdbc":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        (X,), y = standardized(X), np.where(y == 1, 1, -1)
        return Rows(X, y, X, y)
    if name == "banana1000":
        d = load("banana")
        X, y = np.asarray(d.X, np.float64), np.where(d.y == 1, 1, -1)
        return Rows(X[:1000], y[:1000], X[4000:5300], y[4000:5300])
    if name.startswith("usps"):
        d, n = load("usps"), int(name[4:8])
        y = np.where(d.y_train[:n] == 0, 1, -1)
        if name.endswith("+N"):
            y[3::10] *= -1
        test = np.where(d.y_test == 0, 1, -1)
        return Rows(unit_rows(d.X_train[:n]), y, unit_rows(d.X_test), test)
    return draw_rows(name, GENERATED_ROWS, GENERATED_TEST, 0)


def _learn(kind: str, rows: Rows, C: float, gamma: float, **changes: Any) -> Any:
    """One pass in the order given."""
    import everlearn

    model = getattr(everlearn, kind)(C=C, gamma=gamma, **changes)
    if kind == "RampSVM":
        return model.fit(rows.X, rows.y)
    return model.partial_fit(rows.X, rows.y, classes=[-1, 1])


def _dual(model: Any, rows: Rows) -> float:
    """sum a_i y_i - a' K a / 2; a_i y_i may be negative for LASVMNC."""
    coef = np.ravel(model.dual_coef_)
    return float(coef @ rows.y[model.support_] - coef @ model.decision_function(model.support_vectors_) / 2)


def _size_and_score(model: Any, rows: Rows) -> tuple[int, float]:
    return len(model.support_), float(model.score(rows.X_test, rows.y_test))


class Checked:
    """Cells of a table: ours beside what was expected, and how many are outside their tolerance."""

    def __init__(self) -> None:
        self.checked = self.outside = 0
        self.kept: list[dict[str, Any]] = []

    def cell(self, ours: float, expected: float | None, tolerance: Tolerance | None, form: str) -> str:
        """`ours (expected)`, with a mark where the two differ by too much."""
        if expected is None:
            return f"{ours:{form}}"
        mark = ""
        if tolerance is not None:
            self.checked += 1
            if abs(ours - expected) > max(tolerance[0] * abs(expected), tolerance[1]) + 1e-9:
                self.outside += 1
                mark = " **!**"
        return f"{ours:{form}} ({expected:{form}}){mark}"

    def line(self, where: tuple[Any, ...], found: Numbers, expected: Numbers, how: list[Any]) -> list[str]:
        self.kept.append({"where": where, "ours": found, "expected": expected})
        padded = [*expected, *[None] * len(found)][: len(found)]  # the number of rounds may differ
        return [self.cell(*cell, *tf) for *cell, tf in zip(found, padded, how[: len(found)], strict=True)]


def _chapter_6(checked: Checked) -> tuple[list[str], list[list[str]]]:
    table = []
    how = [(SIZE_6, "d"), (DUAL, ".5g"), (ACCURACY, ".4f"), (OUTLIERS, "d")]
    for (data, C, gamma), learners in CHAPTER_6.items():
        rows = rows_of(data)
        for label, expected in learners.items():
            kind, _, rest = label.partition(", ")
            model = _learn(kind, rows, C, gamma, **({"min_support": 0} if rest else {}))
            size, accuracy = _size_and_score(model, rows)
            found: Numbers = (size, _dual(model, rows), accuracy)
            if len(expected) == 4:
                counter = "n_outliers_" if kind == "LASVMNC" else "n_skipped_"
                found = (*found, int(np.sum(getattr(model, counter))))
            cells = checked.line((data, C, gamma, label), found, expected, how)
            values = VALUES.get(label) if data == "usps2000+N" else None
            table.append(
                [
                    f"{data} ({C:g}, {gamma:g})",
                    label,
                    *cells,
                    *[NONE] * (4 - len(cells)),
                    f"{model.n_kernel_evaluations_:,}" + (f" ({values:,})" if values else ""),
                ]
            )
        say(f"{data}, C = {C:g}: done")
    header = ["data (C, gamma)", "learner", "SVs", "dual", "accuracy", "outliers / skipped", "kernel values"]
    return header, table


def _offline(checked: Checked) -> tuple[list[str], list[list[str]]]:
    table = []
    for (data, C, gamma), expected in OFFLINE.items():
        rows = rows_of(data)
        for variant in ("active_set", "cccp"):
            model = _learn("RampSVM", rows, C, gamma, variant=variant, tol=OFFLINE_TOL)
            size, accuracy = _size_and_score(model, rows)
            inside = int(np.sum(rows.y * model.decision_function(rows.X) >= -1))
            objectives = np.ravel(model.objectives_).tolist()
            how = [(INSIDE, "d"), (OFFLINE_SIZE, "d"), (ACCURACY, ".4f")]
            how += [(OFFLINE_OBJECTIVE, ".6g")] * len(objectives)
            found = (inside, size, accuracy, *objectives)
            cells = checked.line((data, C, gamma, variant), found, expected, how)
            rounds = f"{len(objectives) - 1} ({len(expected) - 4})"
            at_end = f"{ramp_objective(model, rows.X, rows.y, C):.6g}"
            table.append(
                [f"{data} ({C:g}, {gamma:g})", variant, *cells[:3], rounds, at_end, ", ".join(cells[3:])]
            )
    header = ["data (C, gamma)", "variant", "inside the ramp", "SVs", "accuracy", "rounds", "at the end"]
    return [*header, "objectives"], table


def _asked(rule: str, *args: Any) -> Callable[[Rows, float, float], tuple[Any, int]]:
    def learn(rows: Rows, C: float, gamma: float) -> tuple[Any, int]:
        from everlearn import OnlineSVMR, query

        model = OnlineSVMR(C=C, gamma=gamma)
        asked = query.learn_stream(model, getattr(query, rule)(*args), rows.X, rows.y, classes=[-1, 1])
        return model, len(asked)

    return learn


ASKING = {"RampRegion": _asked("RampRegion"), "RecentMargin(5)": _asked("RecentMargin", 5)}
ONLINE_CHANGES: dict[str, dict[str, Any]] = {
    "OnlineSVMR": {},
    "max_idle=100": {"max_idle": 100},
    "max_idle=0": {"max_idle": 0},
    "s=-inf": {"s": -np.inf},
}


def _online(checked: Checked) -> tuple[list[str], list[list[str]]]:
    table = []
    for (data, C, gamma), learners in ONLINE.items():
        rows = rows_of(data)
        for label, expected in learners.items():
            third: Any = (ONLINE_OBJECTIVE, ".5g")
            if label in ASKING:
                model, labels = ASKING[label](rows, C, gamma)
                found: Numbers = (*_size_and_score(model, rows), labels)
                third = (ASKED, "d")
            else:
                model = _learn("OnlineSVMR", rows, C, gamma, **ONLINE_CHANGES[label])
                found = _size_and_score(model, rows)
                if len(expected) == 3:
                    found = (*found, ramp_objective(model, rows.X, rows.y, C))
            cells = checked.line(
                (data, C, gamma, label), found, expected, [(ONLINE_SIZE, "d"), (ACCURACY, ".4f"), third]
            )
            cells += [NONE] * (3 - len(cells))
            if label in ASKING:
                cells = [*cells[:2], NONE, cells[2]]
            else:
                cells.append(NONE)
            table.append([f"{data} ({C:g}, {gamma:g})", label, *cells])
        say(f"{data}: online done")
    return ["data (C, gamma)", "learner", "SVs", "accuracy", "ramp objective", "labels asked"], table


def _generated(checked: Checked) -> tuple[list[str], list[list[str]]]:
    table = []
    for (data, C, gamma), learners in GENERATED.items():
        rows = rows_of(data)
        for label, expected in learners.items():
            kind, _, finished = label.partition(", ")
            if label in ASKING:
                model, _ = ASKING[label](rows, C, gamma)
            else:
                model = _learn(kind, rows, C, gamma)
                if finished:
                    model.finish()
            size, accuracy = _size_and_score(model, rows)
            cells = checked.line(
                (data, C, gamma, label), (accuracy, size), expected, [(None, ".4f"), (None, "d")]
            )
            table.append([f"{data} ({C:g}, {gamma:g})", label, *cells])
    return ["data (C, gamma)", "learner", "accuracy", "SVs"], table


def run_part(run: Run) -> None:
    """All tables; the last one is another draw of the same distributions and has no tolerance."""
    for title, part in (
        ("LASVMG and its relatives", _chapter_6),
        ("RampSVM, first 1000 rows", _offline),
        ("OnlineSVMR, first 1000 rows", _online),
        (
            "Generated rows, 1000 for training, 5000 clean for testing: another draw, for orientation",
            _generated,
        ),
    ):
        checked = Checked()
        header, rows = part(checked)
        counts = {"outside": checked.outside, "of": checked.checked}
        run.add({"table": title, **counts, "lines": checked.kept, "header": header, "cells": rows})


def report(data: Data) -> str:
    """Our figures with the expected ones in brackets."""
    parts = [
        *head("Figures on fixed rows, in the order given: ours (a plain implementation's)", data),
        "`!`: outside the tolerance. Dual and ramp objective are computed here from the support vectors.\n",
    ]
    for r in data["results"]:
        verdict = f"{r['outside']} of {r['of']} outside the tolerance.\n" if r["of"] else ""
        parts += [f"## {r['table']}\n", markdown(r["header"], r["cells"]), verdict]
    return "\n".join(parts)
