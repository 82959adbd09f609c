"""A scikit-learn or River classifier as an expert.

It is retrained from scratch when a tenth of its window has changed. So the model is a function of the rows of
its last training. A file contains these rows, and loading retrains the model.

A model that raises an error abstains: it returns the class frequencies of its window, with a warning.
"""

import inspect
import warnings
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from .._base import checked
from .._base.validate import Rows
from ._voters import Floats, Ints, LearningSet, VoterParts, smoothed, softmax
from .experts import Expert

Codes = npt.NDArray[np.int32]

_RETRAIN_FRACTION = 0.1  # changed fraction of the window that triggers retraining


class Basis(NamedTuple):
    """The rows that a model was trained on."""

    X: Rows
    labels: Codes
    weights: Floats


def own(expert: Expert) -> Expert:
    """An expert with its own unfitted copy of the model, so that the caller cannot change it."""
    model = expert.estimator
    if model is None:
        return expert
    if isinstance(model, BaseEstimator):
        return replace(expert, estimator=clone(model))
    return replace(expert, estimator=model.clone() if hasattr(model, "clone") else deepcopy(model))


def seeded(model: Any, seed: int) -> Any:
    """A copy of an unfitted model in which every random state that is None is set to a seed."""
    if isinstance(model, BaseEstimator):
        copy = clone(model)
        parts = {
            name: seed
            for name, value in copy.get_params(deep=True).items()
            if value is None and (name == "random_state" or name.endswith("__random_state"))
        }
        return copy.set_params(**parts)
    if hasattr(model, "clone"):
        return model.clone(_with_seed(model._get_params(), seed))
    return deepcopy(model)


def _with_seed(params: dict[str, Any], seed: int) -> dict[str, Any]:
    """Parameters of a River model with a seed; nested models are pairs of a class and its parameters."""
    found: dict[str, Any] = {}
    for name, value in params.items():
        if name == "seed" and value is None:
            found[name] = seed
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type):
            found[name] = (value[0], _with_seed(value[1], seed))
        elif isinstance(value, dict):  # a step of a pipeline
            found[name] = _with_seed(value, seed)
        else:
            found[name] = value
    return found


class ForeignVoter:
    """A scikit-learn or River classifier, trained on the rows of its window."""

    def __init__(self, expert: Expert, n_classes: int, seed: int) -> None:
        self.expert, self.n_classes, self.seed = expert, n_classes, seed
        self.model: Any = None
        self.present = np.zeros(0, dtype=np.intp)  # classes in its training rows
        self.counts = np.zeros(n_classes, dtype=np.int64)  # of the labels in the window
        self.trained: Ints = np.zeros(0, dtype=np.int64)  # ids of its training rows
        self.basis: Basis | None = None

    @property
    def window(self) -> int | None:
        """Number of most recent rows it learns from; None for all."""
        return self.expert.window

    def update(self, new: LearningSet, kept: LearningSet) -> None:
        """Move the window to the most recent rows, and retrain if enough of them have changed."""
        window = kept.last(self.window)
        ids = kept.ids[window]
        self.counts = np.bincount(kept.labels[window], minlength=self.n_classes)
        changed = len(np.setxor1d(ids, self.trained))
        if changed and changed >= _RETRAIN_FRACTION * len(ids):
            self._train_on(kept, window)

    def follow(self, kept: LearningSet) -> None:
        """Like `update`, after rows were forgotten: retrains if one of them was a training row."""
        self.update(kept, kept)
        if not np.isin(self.trained, kept.ids).all():
            self._train_on(kept, kept.last(self.window))

    def probabilities(self, X: Rows) -> Floats:
        """Class probabilities; class frequencies if it has seen only one class, or if it fails."""
        if self.model is None or X.shape[0] == 0:
            return smoothed(self.counts, X.shape[0])
        try:
            out = self._ask(X)
        except Exception as exc:  # the model may raise anything
            self._abstain("predict", exc)
            return smoothed(self.counts, X.shape[0])
        out = np.nan_to_num(out, nan=0.0, posinf=0.0, neginf=0.0)
        totals = out.sum(axis=1, keepdims=True)
        return np.where(totals > 0, out / np.where(totals > 0, totals, 1.0), 1.0 / self.n_classes)

    def parts(self) -> VoterParts:
        """`probabilities` as data; unknown for a trained model."""
        return VoterParts(probabilities=smoothed(self.counts, 1)[0] if self.model is None else None)

    def _ask(self, X: Rows) -> Floats:
        model, out = self.model, np.zeros((X.shape[0], self.n_classes))
        if hasattr(model, "learn_one"):
            rows = X.toarray() if sparse.issparse(X) else X
            for place, row in enumerate(rows.tolist()):
                for label, chance in model.predict_proba_one(dict(enumerate(row))).items():
                    out[place, self.present[int(label)]] = chance
            return out
        if hasattr(model, "predict_proba"):
            out[:, self.present] = model.predict_proba(X)
            return out
        if hasattr(model, "decision_function"):
            scores = np.asarray(model.decision_function(X), dtype=np.float64)
            scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
            if scores.shape[1] == len(self.present):
                out[:, self.present] = softmax(2.0 * scores)
                return out
        numbers = np.asarray(model.predict(X)).astype(np.intp, casting="same_kind")
        out[np.arange(len(out)), self.present[numbers]] = 1.0
        return out

    def _train_on(self, kept: LearningSet, window: slice) -> None:
        self._train(Basis(kept.rows(window).copy(), kept.labels[window].copy(), kept.costs[window].copy()))
        self.trained = kept.ids[window].copy()

    def _train(self, basis: Basis, quiet: bool = False) -> None:
        """Train a new model; classes are numbered from 0, as binary River models require."""
        self.basis, self.model = basis, None
        self.present, labels = np.unique(basis.labels[basis.weights > 0], return_inverse=True)
        if len(self.present) < 2:
            return
        used = np.flatnonzero(basis.weights > 0)
        try:
            model = seeded(self.expert.estimator, self.seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the user did not choose these training rows
                _fit(model, basis.X[used], labels, basis.weights[used])
            self.model = model
        except Exception as exc:
            if not quiet:
                self._abstain("be trained", exc)

    def _abstain(self, what: str, exc: Exception) -> None:
        warnings.warn(
            f"The expert {self.expert.name!r} could not {what} and abstains: {type(exc).__name__}: {exc}",
            RuntimeWarning,
            stacklevel=2,
        )

    def state(self) -> dict[str, Any]:
        """The state for `restore`."""
        basis = None if self.basis is None else list(self.basis)
        return {"counts": self.counts, "trained": self.trained, "basis": basis}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state: train on the same rows with the same seed."""
        self.counts = checked.integers("counts", state["counts"], (self.n_classes,))
        self.trained = checked.array("trained", state["trained"], np.int64, (None,))
        if state["basis"] is not None:
            X, labels, weights = checked.items("basis", state["basis"], 3)
            n, most = len(self.trained), self.n_classes - 1
            checked.integers("labels", labels, (n,), most=most, dtype=np.int32)
            checked.floats("weights", weights, (n,), least=0.0)
            self._train(Basis(checked.rows("X", X, n, None), labels, weights), quiet=True)


def _fit(model: Any, X: Rows, labels: npt.NDArray[np.intp], weights: Floats) -> None:
    """Train a model; weights are passed if they differ and the model accepts them."""
    weighted = bool((weights != weights[0]).any())
    if not hasattr(model, "learn_one"):
        takes = weighted and has_fit_parameter(model, "sample_weight")
        model.fit(X, labels, **({"sample_weight": weights} if takes else {}))
        return
    if len(np.unique(labels)) > 2 and not getattr(model, "_multiclass", True):
        raise ValueError(
            "it is a binary classifier: wrap it in river.multiclass.OneVsRestClassifier for more classes"
        )
    takes = weighted and "w" in inspect.signature(model.learn_one).parameters
    rows = X.toarray() if sparse.issparse(X) else X
    for row, label, weight in zip(rows.tolist(), labels.tolist(), weights.tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), label, **({"w": weight} if takes else {}))
