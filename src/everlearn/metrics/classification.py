"""Metrics for imbalanced classification: sensitivity, specificity, g-means and PRBEP.

Accuracy says little when one class is rare. These metrics score each class separately, or only the top of a
ranking:

=================  ===========================================================================
`sensitivity`      recall of the positive class, TP / (TP + FN)
`specificity`      recall of the negative class, TN / (TN + FP)
`g_means`          geometric mean of the two; for more classes, of all recalls
`prbep`            precision-recall break-even point of a score
=================  ===========================================================================

Use scikit-learn for the area under the ROC curve (`sklearn.metrics.roc_auc_score`) and Matthews'
correlation coefficient (`sklearn.metrics.matthews_corrcoef`).

No metric depends on the order of the rows. A metric is NaN if it is undefined because a class has no rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["g_means", "prbep", "sensitivity", "specificity"]

_NUMBER_KINDS = "biuf"


def sensitivity(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = 1) -> float:
    """Fraction of the positives that are predicted positive, TP / (TP + FN).

    It equals `sklearn.metrics.recall_score`, except that it is NaN, not 0 with a warning, if there are no
    positives.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels: two classes, numbers or strings.
    y_pred : array-like of shape (n_samples,)
        The predicted labels.
    pos_label : int, float, bool or str, default=1
        The label of the positive class.

    Returns
    -------
    float
        Between 0 and 1, or NaN if `y_true` has no positives.

    Examples
    --------
    >>> from everlearn.metrics import sensitivity
    >>> sensitivity([1, 1, 1, 1, -1, -1], [1, 1, 1, -1, -1, 1])
    0.75
    """
    positive, predicted_positive = _two_classes("sensitivity", y_true, y_pred, pos_label)
    return _fraction(predicted_positive[positive])


def specificity(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = 1) -> float:
    """Fraction of the negatives that are predicted negative, TN / (TN + FP).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels: two classes, numbers or strings.
    y_pred : array-like of shape (n_samples,)
        The predicted labels.
    pos_label : int, float, bool or str, default=1
        The label of the positive class; the other one is the negative class.

    Returns
    -------
    float
        Between 0 and 1, or NaN if `y_true` has no negatives.

    Examples
    --------
    >>> from everlearn.metrics import specificity
    >>> specificity([1, 1, 1, 1, -1, -1], [1, 1, 1, -1, -1, 1])
    0.5
    """
    positive, predicted_positive = _two_classes("specificity", y_true, y_pred, pos_label)
    return _fraction(~predicted_positive[~positive])


def g_means(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Geometric mean of the recalls of the classes; for two classes √(sensitivity · specificity).

    If one class has recall 0, g-means is 0, however rare the class is. All classes count equally, so there is
    no `pos_label`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels: two or more classes, numbers or strings.
    y_pred : array-like of shape (n_samples,)
        The predicted labels. A label that is not in `y_true` counts as a mistake and adds no class to the
        mean.

    Returns
    -------
    float
        (r_1 · r_2 ⋯ r_k)^(1/k) with the recalls r of the k classes in `y_true`; NaN if `y_true` has only one
        class.

    References
    ----------
    M. Kubat, S. Matwin, *Addressing the Curse of Imbalanced Training Sets: One-Sided Selection*, 1997.
    Y. Sun, M. S. Kamel, Y. Wang, *Boosting for Learning Multiple Classes with Imbalanced Class
    Distribution*, 2006, for more than two classes.

    Examples
    --------
    >>> from everlearn.metrics import g_means
    >>> round(g_means([1, 1, 1, 1, -1, -1], [1, 1, 1, -1, -1, 1]), 4)  # √(0.75 · 0.5)
    0.6124
    >>> g_means(["a", "a", "b", "b", "c", "c"], ["a", "a", "b", "b", "a", "b"])  # class c is never predicted
    0.0
    """
    true, predicted = _label_pair(y_true, y_pred)
    classes, codes = np.unique(true, return_inverse=True)
    if len(classes) < 2:
        return float("nan")
    n_rows = np.bincount(codes, minlength=len(classes))
    hits = np.bincount(codes[true == predicted], minlength=len(classes))
    if not hits.all():
        return 0.0
    return float(np.exp(np.mean(np.log(hits / n_rows))))


def prbep(y_true: ArrayLike, y_score: ArrayLike, *, pos_label: Any = 1) -> float:
    """Precision-recall break-even point: the precision of the P highest scores, with P positives in all.

    Precision equals recall exactly if the number of predicted positives equals the number of positives. Ties
    at the threshold count by expectation: if t tied rows with p positives compete for k places, they
    contribute k · p / t positives, the mean over all orders of the tied rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels: two classes, numbers or strings.
    y_score : array-like of shape (n_samples,)
        Scores of the positive class: `decision_function(X)` or `predict_proba(X)[:, 1]`. Infinite values are
        allowed, NaN is not.
    pos_label : int, float, bool or str, default=1
        The label of the positive class.

    Returns
    -------
    float
        Between 0 and 1, or NaN if `y_true` has no positives. A perfect ranking gives 1, a constant score the
        fraction of positives. A strictly increasing transformation of the score does not change it.

    References
    ----------
    T. Joachims, *A Support Vector Method for Multivariate Performance Measures*, 2005.

    Examples
    --------
    >>> from everlearn.metrics import prbep
    >>> prbep([1, 1, -1, -1, -1], [0.9, 0.2, 0.5, 0.1, 0.1])  # one of the two highest is positive
    0.5
    >>> prbep([1, 1, -1, -1], [0.9, 0.5, 0.5, 0.1])  # one place for two tied rows, one of them positive
    0.75
    """
    true = _labels("y_true", y_true)
    score = _scores("y_score", y_score)
    _same_length(true, score, "y_score")
    positive = _is_positive("prbep", true, np.unique(true), pos_label)
    n_positive = int(np.count_nonzero(positive))
    if n_positive == 0:
        return float("nan")
    first_taken = len(score) - n_positive
    cut = np.partition(score, first_taken)[first_taken]
    above, tied = score > cut, score == cut
    places = n_positive - np.count_nonzero(above)
    return float((np.count_nonzero(positive & above) + places * _fraction(positive[tied])) / n_positive)


def _fraction(flags: NDArray[np.bool_]) -> float:
    """Fraction of True; NaN for an empty array."""
    return float(np.count_nonzero(flags) / len(flags)) if len(flags) else float("nan")


def _two_classes(
    metric: str, y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows are positive, and which are predicted positive."""
    true, predicted = _label_pair(y_true, y_pred)
    known = np.union1d(true, predicted)
    return _is_positive(metric, true, known, pos_label), _is_positive(metric, predicted, known, pos_label)


def _is_positive(metric: str, labels: NDArray[Any], known: NDArray[Any], pos_label: Any) -> NDArray[np.bool_]:
    """Compare `labels` with `pos_label`, after checking that it splits `known` into two classes."""
    if len(known) > 2:
        remedy = "make them binary with `y == label` (one-vs-rest)"
        if metric != "prbep":
            remedy += ", or use g_means"
        raise ValueError(f"{metric} is for two classes, but the labels are {_listed(known)}; {remedy}")
    if not isinstance(pos_label, (bool, int, float, str, np.generic)):
        raise TypeError(f"pos_label must be a single label, a number or a string, got {pos_label!r}")
    # A single class that is not pos_label is the negative class, if it has the type of pos_label.
    comparable = isinstance(pos_label, str) == (known.dtype.kind == "U")
    if not comparable or (len(known) == 2 and pos_label not in known):
        raise ValueError(
            f"pos_label={_python_value(pos_label)!r} is not among the labels {_listed(known)}; "
            "set pos_label to the label of the positive class"
        )
    return np.asarray(labels == pos_label, dtype=np.bool_)


def _label_pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both label arrays: one-dimensional, of the same length, both numbers or both strings."""
    true, predicted = _labels("y_true", y_true), _labels("y_pred", y_pred)
    _same_length(true, predicted, "y_pred")
    if (true.dtype.kind == "U") != (predicted.dtype.kind == "U"):
        raise ValueError(
            f"y_true and y_pred must both contain numbers or both contain strings, got labels such as "
            f"{_python_value(true[0])!r} and {_python_value(predicted[0])!r}; encode them in the same way"
        )
    return true, predicted


def _labels(name: str, values: ArrayLike) -> NDArray[Any]:
    """One-dimensional array of numbers without NaN, or of strings."""
    labels = _one_dimensional(name, values, "pass one label per row; for a column use .ravel()")
    if labels.dtype.kind not in "OUST" + _NUMBER_KINDS:
        raise ValueError(f"{name} must contain numbers or strings, got {labels.dtype}; encode the labels")
    if labels.dtype.kind in "OST":
        if all(isinstance(label, str) for label in labels):
            labels = np.array(labels.tolist(), dtype=np.str_)
        elif all(isinstance(label, (bool, int, float, np.number, np.bool_)) for label in labels):
            labels = labels.astype(np.float64)
        else:
            kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
            raise ValueError(
                f"{name} must contain only numbers or only strings, got {kinds}; encode the labels"
            )
    _no_nan(name, labels)
    return labels


def _scores(name: str, values: ArrayLike) -> NDArray[Any]:
    """One-dimensional array of numbers without NaN."""
    scores = _one_dimensional(name, values, "pass the column of the positive class, e.g. scores[:, 1]")
    if scores.dtype.kind not in _NUMBER_KINDS:
        try:
            scores = scores.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} must contain numbers, got {scores.dtype}; pass decision values"
            ) from error
    _no_nan(name, scores)
    return scores


def _one_dimensional(name: str, values: ArrayLike, remedy: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}; {remedy}")
    if len(array) == 0:
        raise ValueError(f"{name} is empty; pass at least one row")
    return array


def _same_length(true: NDArray[Any], other: NDArray[Any], name: str) -> None:
    if len(true) != len(other):
        raise ValueError(
            f"y_true and {name} must have the same length, got {len(true)} and {len(other)}; pass one per row"
        )


def _no_nan(name: str, array: NDArray[Any]) -> None:
    if array.dtype.kind == "f" and np.isnan(array).any():
        row = int(np.flatnonzero(np.isnan(array))[0])
        raise ValueError(f"{name} contains NaN (first in row {row}); drop or impute these rows first")


def _python_value(label: Any) -> Any:
    """The label as a Python value: 1, not np.int64(1)."""
    return label.item() if isinstance(label, np.generic) else label


def _listed(labels: NDArray[Any], limit: int = 10) -> str:
    shown = ", ".join(repr(_python_value(label)) for label in labels[:limit])
    return f"[{shown}]" if len(labels) <= limit else f"[{shown}, ... {len(labels)} in all]"
