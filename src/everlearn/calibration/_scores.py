"""Scores of any classifier: decision values, or the logarithms of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MIN_PROBABILITY = 1e-12


def scores_of(learner: Any, X: Any) -> NDArray[np.float64]:
    """Decision values; if the learner has none, log-probabilities (log-odds for two classes).

    Parameters
    ----------
    learner : classifier
        A classifier with ``decision_function`` or ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_classes)
        Scores for `OnlineCalibrator`.
    """
    if hasattr(learner, "decision_function"):
        return np.asarray(learner.decision_function(X), dtype=np.float64)
    if not hasattr(learner, "predict_proba"):
        raise TypeError(
            f"{type(learner).__name__} has neither decision_function nor predict_proba: use a classifier "
            "that scores rows, such as LASVM."
        )
    return log_scores(learner.predict_proba(X))


def log_scores(proba: Any) -> NDArray[np.float64]:
    """Log-probabilities; for two classes the log-odds of the second class."""
    logs = np.log(np.maximum(np.asarray(proba, dtype=np.float64), _MIN_PROBABILITY))
    return np.asarray(logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs)
