"""The surrogate of the semi-supervised SVM: does it follow the objective, how good and how lazy is greedy?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.data import dense
from ..harness.run import Data, Run
from ..semi.data import newsgroups, plain, sampled, scaled
from .common import add, done, flat_report

SAME_NAME = ("australian", "diabetes", "fourclass", "ionosphere", "sonar", "mushrooms", "svmguide1")
SMALL = {
    "breast cancer": "breast_cancer_wisconsin",
    "german": "german_numer",
    "g50c": "ssl_g50c",
    "digit1": "ssl_digit1",
    **{name: name for name in SAME_NAME},
}
LARGE = {"a9a": 1, "w8a": 1, "cod_rna": 1, "covtype": 2}
NAMES = (*SMALL, "newsgroups", *LARGE)
LABELS, C, RATIO = 4, 1.0, 1.0  # labeled rows, C, and C* in units of C
STEPS = 40  # Hamming distances
TINY, TINY_PROBLEMS = 14, 10
LARGE_ROWS = 50_000
OPTIONS: dict[str, Any] = {
    "kernel": "linear", "scaling": "none", "estimator": None, "rho": 1.0, "label_scores": "similarity",
}  # fmt: skip


def _rows(name: str, rows: int, seed: int) -> tuple[Any, np.ndarray]:
    if name == "newsgroups":
        X, y = newsgroups("comp", "rec")
    else:
        X, y = plain(SMALL[name], 1) if name in SMALL else plain(name, LARGE[name])
    X, y = sampled(X, np.asarray(y, float), rows, seed)
    return scaled(X), y


def _follows(X: Any, y: np.ndarray, seed: int) -> dict[str, float]:
    """Correlation of the surrogate with the SVM's objective over labelings at all Hamming distances."""
    from sklearn.svm import SVC

    random = np.random.default_rng(seed)
    features = dense(X)
    K = features @ features.T
    labeled = np.concatenate([random.permutation(np.flatnonzero(y == s))[: LABELS // 2] for s in (-1, 1)])
    free = np.setdiff1d(np.arange(len(y)), labeled)
    pull = K[np.ix_(free, labeled)] @ y[labeled]
    values = []
    for flips in np.linspace(0, len(free), STEPS).astype(int):
        z = y.copy()
        turned = random.permutation(free)[:flips]
        z[turned] = -z[turned]
        p = (z[free] > 0).astype(float)
        inner = K[np.ix_(free, free)]
        bound = RATIO**2 / 2 * (1 - p) @ inner @ p + RATIO * pull @ (1 - p)
        model = SVC(C=C, kernel="precomputed").fit(K, z) if len(set(z)) == 2 else None
        if model is not None:
            values.append((flips / len(free), bound, _objective(model, K, z)))
    share, bounds, objectives = map(np.array, zip(*values, strict=True))
    near = share <= 0.5
    return {
        "correlation": float(np.corrcoef(bounds, objectives)[0, 1]),
        "correlation_near": float(np.corrcoef(bounds[near], objectives[near])[0, 1]),
        "peak": float(share[int(np.argmax(objectives))]),
    }


def _objective(model: Any, K: np.ndarray, z: np.ndarray) -> float:
    alpha = np.zeros(len(z))
    alpha[model.support_] = model.dual_coef_[0]
    scores = K @ alpha + model.intercept_[0]
    return float(alpha @ K @ alpha / 2 + C * np.maximum(0, 1 - z * scores).sum())


def _s3vm(X: Any, known: np.ndarray, share: float, solver: str) -> Any:
    from everlearn import SubmodS3VM

    return SubmodS3VM(C, solver=solver, positive_fraction=share, **OPTIONS).fit(X, known)


def _known(y: np.ndarray, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    chosen = np.concatenate([random.permutation(np.flatnonzero(y == s))[: LABELS // 2] for s in (-1, 1)])
    known = np.full(len(y), np.nan)
    known[chosen] = y[chosen]
    return known


def _near_optimum(X: Any, y: np.ndarray, seed: int) -> dict[str, float]:
    """The objective that greedy reaches as a share of the largest one, over tiny problems: worst and mean."""
    from everlearn import QPS3VM

    found: dict[str, list[float]] = {"greedy": [], "two-sided": []}
    random = np.random.default_rng(seed)
    features = dense(X)
    for _ in range(TINY_PROBLEMS):
        rows = np.concatenate([random.permutation(np.flatnonzero(y == s))[: TINY // 2 + 2] for s in (-1, 1)])
        x, z = features[rows], y[rows]
        known = _known(z, seed)
        share = float(np.mean(z[np.isnan(known)] > 0))
        best = QPS3VM(C, exact=True, positive_fraction=share, **OPTIONS).fit(x, known).objective_
        for solver, ratios in found.items():
            ratios.append(_s3vm(x, known, share, solver).objective_ / best)
    summaries = (("mean", np.mean), ("worst", np.min))
    return {f"{s.replace('-', '_')}_{n}": float(f(v)) for s, v in found.items() for n, f in summaries}


def _near_best(X: Any, y: np.ndarray, seed: int) -> dict[str, float]:
    """The objective that greedy reaches on the whole set, as a share of the best that any solver finds."""
    from everlearn import QPS3VM

    known = _known(y, seed)
    share = float(np.mean(y[np.isnan(known)] > 0))
    greedy, *others = (
        _s3vm(X, known, share, solver).objective_ for solver in ("greedy", "two-sided", "fast")
    )
    others.append(QPS3VM(C, positive_fraction=share, **OPTIONS).fit(X, known).objective_)
    return {"greedy_on_set": float(greedy / max(greedy, *others))}


def _lazy(X: Any, y: np.ndarray, seed: int) -> dict[str, float]:
    """Gains computed by lazy greedy as a share of those that plain greedy computes."""
    known = _known(y, seed)
    n = int(np.isnan(known).sum())
    share = float(np.mean(y > 0))
    model = _s3vm(X, known, share, "greedy")
    k = max(1, min(n - 1, round(share * n)))
    plain_count = k * n - k * (k - 1) / 2
    return {
        "evaluations": float(model.n_evaluations_),
        "plain": plain_count,
        "saved": 1 - model.n_evaluations_ / plain_count,
    }


def run_part(run: Run) -> None:
    """Small sets: everything; large sets: how lazy greedy is."""
    for name in run.chosen(NAMES, ("g50c", "breast cancer")):
        for seed in range(run.settings["seeds"]):
            if done(run, name, "SubmodS3VM", seed):
                continue
            small = name not in LARGE
            X, y = _rows(name, min(run.settings["rows"], 600) if small else LARGE_ROWS, seed)
            found = _lazy(X, y, seed)
            if small:
                found |= _follows(X[:300], y[:300], seed) | _near_optimum(X, y, seed) | _near_best(X, y, seed)
            add(run, name, "SubmodS3VM", seed, rows=len(y), **found)


def report(data: Data) -> str:
    """A table for each set."""
    text = (
        f"Linear kernel, rows scaled to length 1, {LABELS} labels. correlation: surrogate and SVM objective "
        "over labelings at all Hamming distances from the true one, and at most half of it; greedy: its "
        f"objective as a share of the largest one, over problems of {TINY} rows; on_set: of the best "
        "that a solver finds; saved: gains that lazy "
        "greedy does not compute."
    )
    return flat_report(data, "The surrogate and greedy", text)
