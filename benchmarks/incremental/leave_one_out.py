"""Every row scored by the machine without it, against SVCs fitted without it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC
from tqdm import tqdm

from everlearn import IDSVM

from ..harness.machine import say
from ..harness.report import fill, markdown, number
from ..harness.run import Data, Run
from .data import SEED, draw
from .exact import timed, warm_up
from .report import named, opening, times, tiny

NAMES = ("banana", "waveform", "letter A", "cod_rna", "ijcnn1", "a9a")
LIMIT = 60.0  # CPU seconds for the SVCs that leave one row out


def run_part(run: Run) -> None:
    """One set after the other."""
    warm_up()
    for name in run.missing(run.chosen(NAMES, ("banana", "letter A"))):
        run.add(_run_set(name, run.settings["left_out"]))


def _run_set(name: str, size: int, limit: float = LIMIT) -> dict[str, Any]:
    """Every row scored without itself, beside SVCs fitted without it, as many as `limit` seconds allow."""
    rows = draw(name, size, 0)
    exact = IDSVM(**rows.parameters).fit(rows.X, rows.y)
    left_out, seconds = timed(exact.leave_one_out)
    order = np.random.default_rng(SEED).permutation(size)
    scores, spent = [], 0.0
    for row in tqdm(order, desc=f"leaving out, {name}", unit="row", leave=False):
        rest = rows.without(np.array([row]))
        machine, seconds_once = timed(lambda r=rest: SVC(**r.parameters).fit(r.X, r.y))
        spent += seconds_once
        scores.append(machine.decision_function(rows.X[[row]])[0])
        if spent > limit:
            break
    done = order[: len(scores)]
    ours, theirs = left_out.scores[done], np.array(scores)
    say(f"leave one out, {name}: {seconds:.2f} s, SVC {len(done)} fits in {spent:.1f} s")
    return rows.describe() | {
        "n_support": len(exact.support_),
        "n_margin": int(exact.n_margin_[0]),
        "idsvm_s": seconds,
        "svc_fits": len(done),
        "svc_ms_a_fit": 1e3 * spent / len(done),
        "svc_s_for_all": spent / len(done) * size,
        "error": left_out.error,
        "error_on_done": float(np.mean((ours > 0) != (rows.y[done] > 0))),
        "svc_error_on_done": float(np.mean((theirs > 0) != (rows.y[done] > 0))),
        "decisions_that_differ": int(np.sum((ours > 0) != (theirs > 0))),
        "difference": float(np.abs(ours - theirs).max()),
    }


def report(data: Data) -> str:
    """Seconds for all rows, and how far the scores are from those of SVC."""
    found, settings = data["results"], data["settings"]
    lines = [
        [
            named(r),
            str(r["n_support"]),
            str(r["n_margin"]),
            number(r["idsvm_s"]),
            f"{r['svc_fits']:,}",
            number(r["svc_ms_a_fit"]),
            number(r["svc_s_for_all"]),
            f"**{times(r['svc_s_for_all'], r['idsvm_s'])}**",
            f"{100 * r['error']:.1f}",
            f"{100 * r['error_on_done']:.1f}",
            f"{100 * r['svc_error_on_done']:.1f}",
            str(r["decisions_that_differ"]),
            tiny(r["difference"]),
        ]
        for r in found
    ]
    header = [
        "set (C, gamma)",
        "SVs",
        "at margin",
        "leave_one_out s",
        "SVCs fitted",
        "ms each",
        "s for all",
        "x",
    ]
    errors = ["error %", "on those", "SVC's", "decisions that differ", "df"]
    text = """
    "SVCs fitted": machines fitted without one row each, in random order until they took 60 s; "s for all" is
    their mean times all rows. "on those": the errors over the rows for which an SVC was fitted. "df": largest
    difference of the decision values of the row left out, to an SVC with tolerance 1e-3.
    """
    title = f"Each row of {settings['left_out']:,} left out once"
    return "\n".join([*opening(title, data), markdown([*header, *errors], lines), fill(text)])
