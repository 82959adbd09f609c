"""Scores of any learner: its decision values, or the logarithms of its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 1e-12


def scores_of(learner: Any, X: Any) -> NDArray[np.float64]:
    """Decision values of rows; for a learner without, log-probabilities (log-odds for two classes).

    Parameters
    ----------
    learner : classifier
        It has ``decision_function`` or ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_classes)
        The scores, as `OnlineCalibrator` takes them.
    """
    if hasattr(learner, "decision_function"):
        return np.asarray(learner.decision_function(X), dtype=np.float64)
    if not hasattr(learner, "predict_proba"):
        raise TypeError(
            f"{type(learner).__name__} has neither decision_function nor predict_proba: take a classifier "
            "that scores rows, such as LASVM."
        )
    return log_scores(learner.predict_proba(X))


def log_scores(proba: Any) -> NDArray[np.float64]:
    """Log-probabilities, or for two classes the log-odds of the second."""
    logs = np.log(np.maximum(np.asarray(proba, dtype=np.float64), _LEAST))
    return np.asarray(logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs)
