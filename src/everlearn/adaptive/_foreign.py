"""A classifier of scikit-learn or River as an expert.

It is trained from scratch on its window whenever a tenth of the window is new. So it is a function of the
rows that it was trained on last, which is what a file holds of it: loading trains it again, and runs no code
but that of the two libraries.
"""

import importlib
import re
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from .. import _persist
from .._validate import Rows
from ._voters import Floats, Ints, smoothed, softmax
from .experts import Expert

_NEW = 0.1  # of a window, from which on the model is trained anew
_MODULE = re.compile(r"(sklearn|river)(\.[A-Za-z_]\w*)*\Z")


def seeded(model: Any, seed: int) -> Any:
    """A copy of an unfitted model whose every draw is decided by a seed."""
    if isinstance(model, BaseEstimator):
        copy = clone(model)
        if "random_state" in copy.get_params(deep=False) and copy.random_state is None:
            copy.set_params(random_state=seed)
        return copy
    if hasattr(model, "clone"):  # River
        has_seed = "seed" in model._get_params() and model._get_params()["seed"] is None
        return model.clone({"seed": seed} if has_seed else None)
    return deepcopy(model)


class ForeignVoter:
    """A model from outside, trained on the rows of its window."""

    def __init__(self, expert: Expert, n_classes: int, seed: int) -> None:
        self.expert, self.n_classes, self.seed = expert, n_classes, seed
        self.model: Any = None
        self.X: Rows = None  # of the window, and below of the last training
        self.labels = np.zeros(0, dtype=np.int32)
        self.weights = np.zeros(0)
        self.ids = np.zeros(0, dtype=np.int64)
        self.trained: Ints = np.zeros(0, dtype=np.int64)
        self._basis: tuple[Rows, Any, Any] | None = None

    @property
    def window(self) -> int | None:
        """How many rows it looks back on."""
        return self.expert.window

    def learn(self, X: Rows, labels: npt.NDArray[np.int32], weights: Floats, ids: Ints) -> None:
        """Add rows to the window; `keep` has to follow."""
        if self.X is None or len(self.ids) == 0:
            self.X = X.copy()
        else:
            stack = [self.X, X]
            self.X = sparse.csr_matrix(sparse.vstack(stack)) if sparse.issparse(X) else np.vstack(stack)
        self.labels = np.concatenate([self.labels, labels])
        self.weights = np.concatenate([self.weights, weights])
        self.ids = np.concatenate([self.ids, ids])

    def keep(self, ids: Ints) -> None:
        """Keep these rows only, and train anew if enough has changed."""
        if self.X is None:
            return
        stay = np.isin(self.ids, ids)
        if not stay.all():
            self.X, self.labels = self.X[np.flatnonzero(stay)], self.labels[stay]
            self.weights, self.ids = self.weights[stay], self.ids[stay]
        changed = len(np.setxor1d(self.ids, self.trained))
        gone = len(np.setdiff1d(self.trained, self.ids))
        if changed and (changed >= _NEW * len(self.ids) or (self.window is None and gone)):
            self._train(self.X, self.labels, self.weights)
            self.trained = self.ids.copy()

    def holds(self) -> Ints:
        """The ids of its rows."""
        return self.ids

    def probabilities(self, X: Rows) -> Floats:
        """What it says of rows; class frequencies while it has seen one class."""
        counts = np.bincount(self.labels, minlength=self.n_classes)
        if self.model is None or X.shape[0] == 0:
            return smoothed(counts, X.shape[0])
        out = np.zeros((X.shape[0], self.n_classes))
        if hasattr(self.model, "learn_one"):
            rows = X.toarray() if sparse.issparse(X) else X
            for place, row in enumerate(rows.tolist()):
                for label, chance in self.model.predict_proba_one(dict(enumerate(row))).items():
                    out[place, label] = chance
        elif hasattr(self.model, "predict_proba"):
            out[:, self.model.classes_] = self.model.predict_proba(X)
        elif hasattr(self.model, "decision_function"):
            scores = np.asarray(self.model.decision_function(X), dtype=np.float64)
            scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
            out[:, self.model.classes_] = softmax(2.0 * scores)
        else:
            out[np.arange(len(out)), self.model.predict(X)] = 1.0
        out = np.nan_to_num(out, nan=0.0, posinf=0.0, neginf=0.0)
        totals = out.sum(axis=1, keepdims=True)
        return np.where(totals > 0, out / np.where(totals > 0, totals, 1.0), 1.0 / self.n_classes)

    def _train(self, X: Rows, labels: Any, weights: Any) -> None:
        self._basis = (X, labels, weights)
        if len(np.unique(labels)) < 2:
            self.model = None
            return
        model = seeded(self.expert.model, self.seed)
        if hasattr(model, "learn_one"):
            rows = X.toarray() if sparse.issparse(X) else X
            for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
                model.learn_one(dict(enumerate(row)), label)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a library, about rows that the user did not choose
                model.fit(X, labels)
        self.model = model

    def state(self) -> dict[str, Any]:
        """What `restore` takes."""
        basis = None if self._basis is None else list(self._basis)
        window = [self.X, self.labels, self.weights, self.ids]
        return {"window": window, "trained": self.trained, "basis": basis}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one stood: trained on the same rows, with the same seed."""
        self.X, self.labels, self.weights, self.ids = state["window"]
        self.trained = state["trained"]
        if state["basis"] is not None:
            self._train(*state["basis"])


def describe(model: Any) -> dict[str, Any]:
    """An unfitted classifier by its name and parameters, for a file."""
    if _persist.is_registered(model):
        return _persist.describe(model)
    kind = type(model)
    params = model.get_params(deep=False) if isinstance(model, BaseEstimator) else None
    if params is None and hasattr(model, "_get_params"):
        params = dict(model._get_params())
    if params is None or not _MODULE.match(kind.__module__):
        raise TypeError(
            f"A {kind.__name__} cannot be saved: only classifiers of everlearn, scikit-learn and River can "
            "be experts of a learner that is saved."
        )
    return {"module": kind.__module__, "name": kind.__name__, "params": params}


def revive(state: dict[str, Any]) -> Any:
    """The classifier that `describe` described: a class of scikit-learn, River or everlearn, by its name."""
    if "class" in state:
        return _persist.revive(state)
    module, name = str(state["module"]), str(state["name"])
    if not _MODULE.match(module):
        raise ValueError(f"{module}.{name} is not a classifier of scikit-learn or River.")
    kind = getattr(importlib.import_module(module), name, None)
    trains = isinstance(kind, type) and (
        issubclass(kind, ClassifierMixin) or (module.startswith("river") and hasattr(kind, "learn_one"))
    )
    if not trains:
        raise ValueError(f"{module}.{name} is not a classifier of scikit-learn or River.")
    return kind(**state["params"])  # type: ignore[misc]
