"""Every way to label the unlabeled rows of a problem: ours, scikit-learn's, and what needs none of them.

All of them get the same rows and labels and the linear kernel where they have a kernel. "+ r" is told the
share of positives and takes so many of the highest scores: without such a line, a method that knows the share
would be credited with what the share alone brings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from .data import Problem

OURS, OURS_AUTO = "SubmodS3VM", "SubmodS3VM auto"
SVM, SVM_R, PULL = "SVM", "SVM + r", "labels' pull"
LP, LS, ST = "propagation", "spreading", "self-training"
TOLD = (SVM_R, PULL, f"{LP} + r", f"{LS} + r")  # the share of positives
UNTOLD = (SVM, LP, LS, ST)
BASELINES = (*UNTOLD, *TOLD)


class Guessing(SVC):  # type: ignore[misc]
    """The SVM, with the logistic function of its decision where self-training asks for a probability."""

    def predict_proba(self, X: Any) -> np.ndarray:
        positive = expit(2 * self.decision_function(X))
        return np.column_stack([1 - positive, positive])


def count(share: float, n: int) -> int:
    """share * n rounded half up; both classes keep a row."""
    return int(np.clip(np.floor(share * n + 0.5), 1, n - 1))


def cut(scores: np.ndarray, k: int) -> np.ndarray:
    """Label the k highest scores positive; of equals the lowest rows."""
    labels = np.full(len(scores), -1.0)
    labels[np.argsort(-scores, kind="stable")[:k]] = 1
    return labels


def labels_alone(X: Any, y: np.ndarray, labeled: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Sum of y_i <x_i, x_j> over the labeled rows: what is left of the S3VM where rho tends to 0."""
    return np.asarray(X[rest] @ (X[labeled].T @ y[labeled])).ravel()


def median_gamma(X: Any, rows: int = 500) -> float:
    """1 / (2 median of squared distances), on some rows."""
    X = X[np.random.default_rng(0).permutation(X.shape[0])[:rows]]
    dots = X @ X.T
    dots = dots.toarray() if hasattr(dots, "toarray") else dots
    squares = dots.diagonal()[:, np.newaxis] + dots.diagonal() - 2 * dots
    return float(1 / (2 * max(np.median(squares[np.triu_indices(len(squares), 1)]), 1e-12)))


def partly(y: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    """The labels of these rows, NaN for all others."""
    known = np.full(len(y), np.nan)
    known[labeled] = y[labeled]
    return known


def _graph(model: Any, problem: Problem, labeled: np.ndarray, rest: np.ndarray, k: int) -> Any:
    """A graph method: its labels, and the k rows that it finds most positive."""
    known = np.full(len(problem.y), -1)
    known[labeled] = problem.y[labeled] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # rows that no label reaches are divided by zero
        model.fit(problem.X, known)
    shares = np.nan_to_num(model.label_distributions_[rest], nan=0.5)
    return np.where(model.transduction_[rest] == 1, 1.0, -1.0), cut(shares[:, 1] - shares[:, 0], k)


def graphs(gamma: float) -> dict[str, Callable[[], Any]]:
    """Both of scikit-learn, each on the graph of 7 neighbors and on all pairs under an RBF kernel."""
    kinds = {"7 neighbors": {"kernel": "knn", "n_neighbors": 7}, "RBF": {"kernel": "rbf", "gamma": gamma}}
    classes = {LP: LabelPropagation, LS: LabelSpreading}
    return {
        f"{who}, {kind}": (lambda made=made, options=options: made(**options))
        for who, made in classes.items()
        for kind, options in kinds.items()
    }


def ours(problem: Problem, labeled: np.ndarray, share: float | None) -> Any:
    """Fit `SubmodS3VM` with the linear kernel on rows that are scaled already."""
    from everlearn import SubmodS3VM

    model = SubmodS3VM(
        kernel="linear", scaling="unit", positive_fraction=share, estimator=None, random_state=0
    )
    return model.fit(problem.X, partly(problem.y, labeled))


def ours_as_it_comes(problem: Problem, labeled: np.ndarray, share: float) -> Any:
    """Fit `SubmodS3VM` with its own scaling and kernel."""
    from everlearn import SubmodS3VM

    return SubmodS3VM(positive_fraction=share, estimator=None, random_state=0).fit(
        problem.raw, partly(problem.y, labeled)
    )


class Scores:
    """Accuracy on the unlabeled rows and CPU seconds of every method, split by split."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, list[float]]] = {}

    def add(self, who: str, right: float, seconds: float) -> None:
        entry = self.found.setdefault(who, {"accuracy": [], "cpu": []})
        entry["accuracy"].append(float(right))
        entry["cpu"].append(round(seconds, 5))

    def measure(self, names: tuple[str, ...], truth: np.ndarray, call: Callable[[], Any]) -> Any:
        """Time a call that returns as many label vectors as names; the time counts for each."""
        start = process_time()
        answers = call()
        seconds = process_time() - start
        for name, labels in zip(names, answers, strict=True):
            self.add(name, np.mean(labels == truth), seconds)
        return answers


def compare(problem: Problem, labeled: np.ndarray, scores: Scores, gamma: float | None) -> None:
    """All methods on one split, without `gamma` only those that are fast; "+ r" and ours know the share."""
    X, y = problem.X, problem.y
    rest = np.setdiff1d(np.arange(len(y)), labeled)
    truth = y[rest]
    share = float(np.mean(truth > 0))
    k = count(share, len(rest))

    def svm() -> Any:
        decision = SVC(kernel="linear", C=1).fit(X[labeled], y[labeled]).decision_function(X[rest])
        return np.where(decision > 0, 1.0, -1.0), cut(decision, k)

    def self_trained() -> Any:
        known = np.full(len(y), -1)
        known[labeled] = y[labeled] > 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nothing above its threshold: it stays with the labels
            model = SelfTrainingClassifier(Guessing(kernel="linear", C=1)).fit(X, known)
        return (np.where(model.predict(X[rest]) == 1, 1.0, -1.0),)

    scores.measure((SVM, SVM_R), truth, svm)
    scores.measure((PULL,), truth, lambda: (cut(labels_alone(X, y, labeled, rest), k),))
    scores.measure((OURS,), truth, lambda: (ours(problem, labeled, share).transduction_[rest],))
    if not problem.sparse and X.shape[1] < 50:  # elsewhere "auto" is the linear kernel
        scores.measure(
            (OURS_AUTO,), truth, lambda: (ours_as_it_comes(problem, labeled, share).transduction_[rest],)
        )
    if gamma is None:
        return
    scores.measure((ST,), truth, self_trained)
    for name, make in graphs(gamma).items():
        names = (name, f"{name} + r")
        scores.measure(names, truth, lambda make=make: _graph(make(), problem, labeled, rest, k))
