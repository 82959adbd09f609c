"""The classifier for new rows: its choice, training on transduced labels, and saving."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import LinearSVC
from sklearn.utils.validation import has_fit_parameter

from .._base import checked, persist
from .._base.kernels import parameters_of
from .._base.validate import Array, Rows
from ..svm import LASVM
from ._space import Space

_LINEAR = ("classes_", "coef_", "intercept_", "n_features_in_", "n_iter_")


def choose_predictor(estimator: Any, space: Space, C: float, random_state: Any, n_jobs: int | None) -> Any:
    """Return an unfitted classifier: what "auto" stands for under a kernel, or a copy of what was given."""
    if not isinstance(estimator, str):
        return clone(estimator)
    if space.kernel is not None and space.kernel.is_linear:
        return LinearSVC(C=C, dual="auto", max_iter=100_000, random_state=random_state)
    return LASVM(C=C, random_state=random_state, n_jobs=n_jobs, **parameters_of(space.kernel))


def train(model: Any, X: Rows, labels: Array, given: Array, mean_one: bool = False) -> Any:
    """Train with weight 1 for given labels; the other labels together weigh at most as much as these.

    With ``mean_one`` weights are then scaled to a mean of 1. A kernel SVM needs this: with few labels most
    weights are small, and with small costs it predicts little more than the majority class.
    """
    if given.all():
        return model.fit(X, labels)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(
            f"estimator={model!r} does not accept sample_weight in fit, which gives found labels less "
            "weight than given ones: use a classifier that does, or None."
        )
    weight = min(1.0, given.sum() / (~given).sum())
    weights = np.where(given, 1.0, weight)
    return model.fit(X, labels, sample_weight=weights / weights.mean() if mean_one else weights)


def decide(model: Any, X: Rows, classes: Array) -> Array:
    """Decision values in terms of all classes; one of which no row had the label gets minus infinity."""
    scores = np.asarray(model.decision_function(X))
    if len(model.classes_) == len(classes):
        return scores
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    everything = np.full((len(scores), len(classes)), -np.inf)
    everything[:, np.searchsorted(classes, model.classes_)] = scores
    return everything


def describe(model: Any) -> dict[str, Any]:
    """A classifier as data: an everlearn learner, or scikit-learn's `LinearSVC`."""
    if type(model) is LinearSVC:
        fitted = {key: value for key, value in vars(model).items() if key in _LINEAR}
        return {"linear": model.get_params(), "fitted": fitted}
    if not persist.is_registered(model):
        raise TypeError(
            f"A {type(model).__name__} cannot be saved without pickle: choose estimator='auto', "
            "estimator=None or a learner of everlearn, or pickle the whole estimator."
        )
    return persist.describe(model)


def revive(state: dict[str, Any]) -> Any:
    """Rebuild a classifier from its description."""
    if "class" in state:
        return persist.revive(state)
    model = LinearSVC(**checked.table("linear", state["linear"]))
    fitted = checked.table("fitted", state["fitted"])
    if fitted:
        classes = checked.classes("classes_", fitted["classes_"])
        columns, width = (1 if len(classes) == 2 else len(classes)), checked.features(fitted)
        checked.floats("coef_", fitted["coef_"], (columns, width))
        if np.ndim(fitted["intercept_"]):  # the number 0 without an intercept
            checked.floats("intercept_", fitted["intercept_"], (columns,))
        else:
            checked.number("intercept_", fitted["intercept_"])
    for key in _LINEAR:
        if key in fitted:
            setattr(model, key, fitted[key])
    return model


def check_predictor(model: Any, classes: Array, width: int) -> None:
    """Raise a ValueError if a loaded model does not match the classes or the number of features."""
    if not hasattr(model, "decision_function") or not hasattr(model, "classes_"):
        raise ValueError("the classifier for new rows must be fitted")
    if not np.isin(model.classes_, classes).all() or model.n_features_in_ != width:
        raise ValueError("the classifier for new rows was fitted on other classes or features")
