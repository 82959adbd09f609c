"""Ways to an exact machine: fit, from_svm, partial_fit."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
from sklearn.svm import SVC

from everlearn import IDSVM, LASVM

from ..harness.machine import say
from ..harness.report import fill, markdown, number
from ..harness.run import Data, Run
from .data import SEED, draw
from .exact import timed, warm_up
from .report import named, opening, tiny

NAMES = ("banana", "letter A", "cod_rna", "ijcnn1", "a9a")


def run_part(run: Run) -> None:
    """One set after the other."""
    warm_up()
    for name in run.missing(run.chosen(NAMES, ("banana", "letter A"))):
        run.add(_run_set(name, run.settings["rows"]))


def _run_set(name: str, size: int) -> dict[str, Any]:
    """CPU seconds of every way to an exact machine of the same rows, and how far they are apart."""
    rows = draw(name, size, 1_000)
    X, y, parameters = rows.X, rows.y, rows.parameters
    machine, scratch = timed(lambda: IDSVM(**parameters).fit(X, y))
    svc, svc_fit = timed(lambda: SVC(**parameters).fit(X, y))
    from_svc, svc_taken = timed(lambda: IDSVM.from_svm(svc, X, y))
    lasvm, lasvm_fit = timed(lambda: LASVM(**parameters, random_state=SEED).fit(X, y))
    from_lasvm, lasvm_taken = timed(lambda: IDSVM.from_svm(lasvm, X, y))
    at_once, block = timed(lambda: IDSVM(**parameters).partial_fit(X, y, classes=(-1, 1)))
    one_by_one = IDSVM(**parameters)
    start = process_time()
    for i in range(size):
        one_by_one.partial_fit(X[i : i + 1], y[i : i + 1], classes=(-1, 1))
    singly = process_time() - start
    scores = machine.decision_function(rows.others)
    everyone = (from_svc, from_lasvm, at_once, one_by_one)
    say(f"start, {name}, {size} rows: fit {scratch:.2f} s, one by one {singly:.2f} s")
    return rows.describe() | {
        "n_support": len(machine.support_),
        "n_margin": int(machine.n_margin_[0]),
        "fit_s": scratch,
        "svc_s": svc_fit,
        "from_svc_s": svc_taken,
        "lasvm_s": lasvm_fit,
        "from_lasvm_s": lasvm_taken,
        "one_call_s": block,
        "singly_s": singly,
        "apart": max(float(np.abs(m.decision_function(rows.others) - scores).max()) for m in everyone),
    }


def report(data: Data) -> str:
    """CPU seconds of each way, and how far apart the results are."""
    found, settings = data["results"], data["settings"]
    lines = [
        [
            named(r),
            str(r["n_support"]),
            str(r["n_margin"]),
            number(r["fit_s"]),
            f"{number(r['svc_s'])} + {number(r['from_svc_s'])}",
            f"{number(r['lasvm_s'])} + {number(r['from_lasvm_s'])}",
            number(r["one_call_s"]),
            number(r["singly_s"]),
            tiny(r["apart"]),
        ]
        for r in found
    ]
    header = ["set (C, gamma)", "SVs", "at margin", "fit", "SVC + from_svm", "LASVM + from_svm"]
    calls = ["partial_fit, one call", "one call a row", "apart"]
    text = """
    CPU seconds, once each. In the sums the first is the time of the machine that is taken over, the second
    that of `from_svm`. "apart": largest difference of decision values between `fit` and the four others, over
    1,000 other rows.
    """
    title = f"Ways to an exact machine of {settings['rows']:,} rows"
    return "\n".join([*opening(title, data), markdown([*header, *calls], lines), fill(text)])
