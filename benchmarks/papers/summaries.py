"""Exemplars of a batch instead of the batch: does the next one get the same labels?"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..harness.run import Data, Run
from ..semi.data import newsgroups, plain, sampled, scaled
from .common import add, done, flat_report, timed

SETS = {
    "covtype": ("covtype", 2),
    "text": ("ssl_text", 1),
    "a9a": ("a9a", 1),
    "cod-rna": ("cod_rna", 1),
    "real-sim": ("real_sim_3k", 1),
}
NAMES = (*SETS, "newsgroups")
BATCH, LABELS = 500, 10
SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
KERNELS = ("linear", "rbf")


def _batches(name: str, seed: int) -> tuple[Any, np.ndarray]:
    X, y = newsgroups("comp", "rec") if name == "newsgroups" else plain(*SETS[name])
    X, y = sampled(X, np.asarray(y, float), 2 * BATCH, seed)
    return scaled(X), y


def _stack(*parts: Any) -> Any:
    return sp.csr_matrix(sp.vstack(parts)) if sp.issparse(parts[0]) else np.vstack(parts)


def _labels(X: Any, known: np.ndarray, kernel: str, share: float, last: int) -> np.ndarray:
    from everlearn import SubmodS3VM

    options: dict[str, Any] = {"scaling": "none", "estimator": None, "rho": 1.0, "positive_fraction": share}
    return np.asarray(SubmodS3VM(kernel=kernel, **options).fit(X, known).transduction_)[-last:]


def run_part(run: Run) -> None:
    """All sets, both kernels, both solvers of the exemplars, and random rows."""
    from everlearn import Exemplars

    for name in run.chosen(NAMES, ("covtype",)):
        for seed in range(run.settings["seeds"]):
            X, y = _batches(name, seed)
            half = len(y) // 2
            known = np.full(len(y), np.nan)
            random = np.random.default_rng(seed)
            told = [random.permutation(np.flatnonzero(y[:half] == s))[: LABELS // 2] for s in (-1, 1)]
            known[np.concatenate(told)] = y[np.concatenate(told)]
            share = float(np.mean(y > 0))
            for kernel in KERNELS:
                full = _labels(X, known, kernel, share, len(y) - half)
                alone_rows = np.concatenate(told)
                alone = _labels(
                    _stack(X[alone_rows], X[half:]),
                    np.r_[known[alone_rows], known[half:]],
                    kernel,
                    share,
                    len(y) - half,
                )
                for size in SHARES:
                    count = max(2, int(size * half))
                    for method in ("greedy", "qp", "random"):
                        learner = f"{method}, {kernel}"
                        if done(run, name, learner, seed, share=size):
                            continue
                        if method == "random":
                            free = np.flatnonzero(np.isnan(known[:half]))
                            kept, seconds = np.sort(np.r_[random.permutation(free)[:count], alone_rows]), 0.0
                        else:
                            chooser = Exemplars(count, method=method, kernel=kernel, scaling="none")
                            model, seconds = timed(chooser.fit, X[:half], known[:half])
                            kept = np.asarray(model.kept_)
                        found = _labels(
                            _stack(X[kept], X[half:]),
                            np.r_[known[kept], known[half:]],
                            kernel,
                            share,
                            len(y) - half,
                        )
                        add(
                            run, name, learner, seed, share=size, cpu=seconds,
                            agreement=float(np.mean(found == full)),
                            accuracy=float(np.mean(found == y[half:])),
                            labels_alone=float(np.mean(alone == full)),
                        )  # fmt: skip


def report(data: Data) -> str:
    """A table for each set."""
    text = (
        f"Two batches of {BATCH} rows, {LABELS} labels in the first. agreement: rows of the second "
        "batch that "
        "get the label that they get with the whole first batch; labels_alone: with its labeled rows alone. "
        "share: exemplars."
    )
    return flat_report(data, "Exemplars instead of a batch", text, ("share",))
