"""Withdrawing rows: one at a time beside a new SVC, and leaving out every row once."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

import numpy as np
from sklearn.svm import SVC
from tqdm import tqdm

from _incremental_exact import residual, timed
from _incremental_sets import SEED, Rows, draw
from _report import say
from everlearn import IDSVM, LASVM

OTHERS = 1_000  # rows on which decision values are compared
RETRAININGS = 5
LASVM_EPOCHS = 3  # then it is the SVM of all rows, nearly
TIGHT = 1e-6  # tolerance of the SVC that stands for the solution
LEAVING_LIMIT = 60.0  # CPU seconds for the SVCs that leave one row out


def _milliseconds(seconds: list[float]) -> dict[str, Any]:
    return {
        "count": len(seconds),
        "mean_ms": 1e3 * mean(seconds) if seconds else None,
        "median_ms": 1e3 * median(seconds) if seconds else None,
        "largest_ms": 1e3 * max(seconds) if seconds else None,
    }


# ----------------------------------------------------------------------------------------- forgetting rows


def run_forget(name: str, size: int, count: int) -> dict[str, Any]:
    """Forget `count` rows drawn at random, one call each, and as many support vectors."""
    rows = draw(name, size, OTHERS)
    rng = np.random.default_rng(SEED)
    retrainings = []
    for left_out in rng.integers(size, size=RETRAININGS):
        rest = rows.without(np.array([left_out]))
        retrainings.append(timed(lambda r=rest: SVC(**r.parameters).fit(r.X, r.y))[1])
    exact, fitting = timed(lambda: IDSVM(**rows.parameters).fit(rows.X, rows.y))
    found: dict[str, Any] = rows.describe() | {
        "n_support": len(exact.support_),
        "n_margin": int(exact.n_margin_[0]),
        "svc": _milliseconds(retrainings),
        "fit_ms": 1e3 * fitting,
        "lasvm_before": _largest(_lasvm(rows), rows, exact.decision_function(rows.others)),
    }
    for group, pool in (("random", np.arange(size)), ("support", np.sort(exact.support_))):
        chosen = rng.choice(pool, size=min(count, len(pool)), replace=False)
        rest = rows.without(chosen)
        truth, tight = timed(lambda r=rest: SVC(**r.parameters, tol=TIGHT).fit(r.X, r.y))
        wanted = truth.decision_function(rows.others)
        found[group] = {
            "idsvm": _forget_exactly(exact, rows, chosen, wanted),
            "lasvm": _forget_with_lasvm(_lasvm(rows), rows, chosen, wanted),
            "tight_svc_ms": 1e3 * tight,
            "tight_svc": residual(truth, rest, np.arange(len(rest.y))),
        }
        say(f"forget, {name}, {group}: {found[group]['idsvm']['mean_ms']:.2f} ms a row")
    return found | {"n_refreshes": exact.n_refreshes_, "n_fallbacks": exact.n_fallbacks_}


def _forget_exactly(exact: IDSVM, rows: Rows, chosen: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    """Forget the rows in turn, compare, and learn them again in turn."""
    forgetting = [timed(lambda i=i: exact.forget(i))[1] for i in chosen]
    found = _milliseconds(forgetting) | residual(exact, rows, exact.ids_)
    found |= {"difference": _largest(exact, rows, wanted), "n_support_left": len(exact.support_)}
    learning = [timed(lambda i=i: exact.partial_fit(rows.X[[i]], rows.y[[i]], ids=[i]))[1] for i in chosen]
    return found | {"learnt_again": _milliseconds(learning)}


def _lasvm(rows: Rows) -> LASVM:
    return LASVM(**rows.parameters, epochs=LASVM_EPOCHS, random_state=SEED).fit(rows.X, rows.y)


def _forget_with_lasvm(learner: LASVM, rows: Rows, chosen: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    """The same with LASVM, which has dropped most rows that are no support vectors: nothing to forget."""
    forgetting = [seconds for row in chosen if (seconds := _forgotten(learner, row)) is not None]
    return _milliseconds(forgetting) | {
        "difference": _largest(learner, rows, wanted),
        "n_support_left": len(learner.support_),
    }


def _forgotten(learner: LASVM, row: int) -> float | None:
    """Seconds to forget a row, None if it is not kept."""
    try:
        return timed(lambda: learner.forget(row))[1]
    except ValueError:
        return None


def _largest(learner: Any, rows: Rows, wanted: np.ndarray) -> float:
    """The largest difference to other decision values."""
    return float(np.abs(learner.decision_function(rows.others) - wanted).max())


# ---------------------------------------------------------------------------------------- leaving one out


def run_leave_one_out(name: str, size: int, limit: float = LEAVING_LIMIT) -> dict[str, Any]:
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
