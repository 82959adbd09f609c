"""What a query strategy may know of a model: its decision scores, in one shape whatever the model is."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples, check_is_fitted

Scores = npt.NDArray[np.float64]


class ScoresNotFinite(ValueError):
    """A model has scores that are no numbers: it has diverged, or has not learned enough to have any."""


def count_rows(X: Any) -> int:
    """Number of rows of X, of which there must be one at least."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 1:
        raise ValueError(
            f"X must be two-dimensional, got shape {tuple(shape)}: a single row is X.reshape(1, -1)."
        )
    rows = int(_num_samples(X))
    if rows == 0:
        raise ValueError("X has no rows: there is nothing to ask about.")
    return rows


def has_learned(model: Any) -> bool:
    """Whether a model has learned anything yet."""
    if hasattr(model, "fit"):
        try:
            check_is_fitted(model)
        except NotFittedError:
            return False
    return hasattr(model, "classes_")


def decision_scores(model: Any, X: Any) -> Scores:
    """Decision scores of a classifier.

    Parameters
    ----------
    model : object
        A classifier that has learned something and has a ``decision_function``.
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
            f"{type(model).__name__} has no decision_function, which this query strategy needs: take a "
            "classifier that has one, such as LASVM, SGDClassifier or SVC, or a Pipeline that ends with one."
        )
    return _scores_by(model, "decision_function", X)


def class_scores(model: Any, X: Any) -> Scores:
    """Decision scores of a classifier, or what its probabilities say where it has none.

    Parameters
    ----------
    model : object
        A classifier that has learned something and has a ``decision_function`` or a ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows, as the model takes them.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
        One column for two classes, 0 on the boundary, otherwise one for each class; finite. Two probabilities
        make their difference, second minus first; more are the columns themselves.
    """
    _refuse_class(model)
    if hasattr(model, "decision_function"):
        return _scores_by(model, "decision_function", X)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba, one of which this "
            "query strategy needs: take a classifier that has one, such as LASVM or GaussianNB, or a "
            "Pipeline that ends with one."
        )
    found = _scores_by(model, "predict_proba", X)
    return found[:, 1:] - found[:, :1] if found.shape[1] == 2 else found


def _refuse_class(model: Any) -> None:
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}; pass an instance that has learned something.")


def _scores_by(model: Any, method: str, X: Any) -> Scores:
    """What a method of a model says of rows, in two dimensions and finite."""
    name = type(model).__name__
    if hasattr(model, "fit"):
        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise NotFittedError(
                f"This {name} has learned nothing yet: call fit or partial_fit before asking about rows, or "
                "begin with learn_stream."
            ) from error
    rows = count_rows(X)
    scores = np.asarray(getattr(model, method)(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = scores[:, np.newaxis]
    if scores.ndim != 2 or len(scores) != rows or scores.shape[1] == 0:
        raise ValueError(
            f"The {method} of {name} returned shape {scores.shape} for {rows} rows; it must return one score "
            "for each row, or one for each row and class."
        )
    _refuse_pairs(model, scores.shape[1])
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise ScoresNotFinite(
            f"The decision scores of {name} contain NaN or infinity (first in row {row}): it has learned too "
            "few rows, or its learning has diverged. Scale the features or take smaller steps."
        )
    return scores


def _refuse_pairs(model: Any, columns: int) -> None:
    """A column for each pair of classes, as "ovo" of `SVC` makes them, is no column for each class.

    Three classes have three pairs, so that the shape does not tell; then the parameter does.
    """
    classes = len(getattr(model, "classes_", ()))
    if classes == 0 or (columns == 1 and classes <= 2):
        return
    if columns == 1:
        raise ValueError(
            f"{type(model).__name__} has {classes} classes and one column of scores: it has learned two of "
            "them only, and which ones it does not say. Let it learn a row of each class first."
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
            f"The decision_function of {type(model).__name__} has {columns} columns that are not one for "
            f'each of its {classes} classes: for SVC set decision_function_shape="ovr".'
        )


def margins(scores: Scores) -> Scores:
    """Distance from the boundary: |f| for two classes, otherwise the gap between the two largest scores."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    highest = np.partition(scores, -2, axis=1)
    return np.asarray(highest[:, -1] - highest[:, -2])


def decided(scores: Scores) -> npt.NDArray[np.intp]:
    """The class that scores stand for, by its number; a score of 0 is the first of two."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.intp)
    return np.asarray(scores.argmax(axis=1))
