"""The scores of any classifier in one shape."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ._rows import count_rows

Scores = npt.NDArray[np.float64]


class ScoresNotFinite(ValueError):
    """The scores of a model are NaN or infinite: it has diverged, or has learned too little to have any."""


class Unfitted:
    """Stands for a model that has learned nothing: f = 0 everywhere."""

    def decision_function(self, X: Any) -> Scores:
        """Score rows."""
        return np.zeros(count_rows(X))


def has_learned(model: Any) -> bool:
    """Whether a model has learned anything yet."""
    if hasattr(model, "fit"):
        try:
            check_is_fitted(model)
        except NotFittedError:
            return False
    return hasattr(model, "classes_")


def decision_scores(model: Any, X: Any) -> Scores:
    """Decision values of a classifier.

    Parameters
    ----------
    model : object
        A fitted classifier with a ``decision_function``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows, as the model takes them.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
        One column for two classes, otherwise one for each class; finite.
    """
    _refuse_class(model)
    if not hasattr(model, "decision_function"):
        raise TypeError(
            f"{type(model).__name__} has no decision_function, which this query strategy needs: use a "
            "classifier that has one, such as LASVM, SGDClassifier or SVC, or a Pipeline that ends with one."
        )
    return _scores_by(model, "decision_function", X)


def class_scores(model: Any, X: Any) -> Scores:
    """Decision values of a classifier, or scores from its probabilities if it has none.

    Parameters
    ----------
    model : object
        A fitted classifier with a ``decision_function`` or a ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows, as the model takes them.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
        One column for two classes, 0 on the boundary, otherwise one for each class; finite. Two probabilities
        become their difference, second minus first; more are returned as they are.
    """
    _refuse_class(model)
    if hasattr(model, "decision_function"):
        return _scores_by(model, "decision_function", X)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba, and this query "
            "strategy needs one of them: use a classifier such as LASVM or GaussianNB, or a Pipeline that "
            "ends with one."
        )
    found = _scores_by(model, "predict_proba", X)
    return found[:, 1:] - found[:, :1] if found.shape[1] == 2 else found


def _refuse_class(model: Any) -> None:
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}: pass a fitted instance.")


def _scores_by(model: Any, method: str, X: Any) -> Scores:
    """The output of a method of a model, two-dimensional and finite."""
    name = type(model).__name__
    if hasattr(model, "fit"):
        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise NotFittedError(
                f"This {name} is not fitted: call fit or partial_fit before selecting rows, or use "
                "learn_stream."
            ) from error
    n_rows = count_rows(X)
    scores = np.asarray(getattr(model, method)(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = scores[:, np.newaxis]
    if scores.ndim != 2 or len(scores) != n_rows or scores.shape[1] == 0:
        raise ValueError(
            f"{method} of {name} returned shape {scores.shape} for {n_rows} rows; it must return one score "
            "for each row, or one for each row and class."
        )
    _refuse_pairs(model, scores.shape[1])
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise ScoresNotFinite(
            f"The scores of {name} contain NaN or infinity (first in row {row}): it has learned too few "
            "rows, or has diverged. Scale the features or use a smaller learning rate."
        )
    return scores


def _refuse_pairs(model: Any, columns: int) -> None:
    """Refuse one-vs-one scores, which `SVC` gives with "ovo": they have no column for each class.

    Three classes have three pairs, so that the shape does not tell; then the parameter does.
    """
    classes = len(getattr(model, "classes_", ()))
    if classes == 0 or (columns == 1 and classes <= 2):
        return
    if columns == 1:
        raise ValueError(
            f"{type(model).__name__} has {classes} classes and one column of scores: it has seen only two of "
            "them, and does not say which. Let it learn a row of each class first."
        )
    pairs = columns != classes
    if columns == classes == 3 and hasattr(model, "get_params"):
        pairs = any(
            value == "ovo"
            for key, value in model.get_params().items()
            if key.split("__")[-1] == "decision_function_shape"
        )
    if pairs:
        raise ValueError(
            f"The decision_function of {type(model).__name__} has {columns} columns, not one for each of its "
            f'{classes} classes: for SVC set decision_function_shape="ovr".'
        )


def margins(scores: Scores) -> Scores:
    """The margin: |f| for two classes, otherwise the gap between the two largest scores."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    highest = np.partition(scores, -2, axis=1)
    return np.asarray(highest[:, -1] - highest[:, -2])


def predicted_classes(scores: Scores) -> npt.NDArray[np.intp]:
    """The predicted classes by number; a score of 0 means the first of two."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.intp)
    return np.asarray(scores.argmax(axis=1))
