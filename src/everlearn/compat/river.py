"""Learners of everlearn in River: rows are dicts, and come one at a time.

>>> from river import datasets, evaluate, metrics, preprocessing
>>> from everlearn import KOIL
>>> from everlearn.compat.river import RiverClassifier
>>> model = preprocessing.MinMaxScaler() | RiverClassifier(KOIL(gamma=1, random_state=0))
>>> bool(evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC()).get() > 0.9)
True
"""

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

try:
    from river import base
except ImportError as error:  # pragma: no cover
    raise ImportError('everlearn.compat.river needs River: pip install "everlearn[river]".') from error

from ..budget import RBP


class RiverClassifier(base.Classifier):
    """Any learner with ``partial_fit`` as a classifier of River.

    A name gets a column of its own when it first comes, and a name that is missing in a row counts as 0, so
    that features may come and go.

    Parameters
    ----------
    model : classifier
        A learner of everlearn, or another one with ``partial_fit`` and ``decision_function`` that takes
        sparse rows. It is copied. Give its ``gamma``: "scale" would be taken from the very first row.
    classes : list of labels, default=None
        All labels that will come; None is False and True, as River has them.
    max_features : int, default=1000
        Columns there are; names that come when all are taken are passed over.

    Notes
    -----
    Probabilities are 1 / (1 + exp(-f)) of the scores f, brought to the sum 1: good for ranking, as ROC AUC
    does, but not calibrated.
    """

    def __init__(self, model: Any, classes: list[Any] | None = None, max_features: int = 1000) -> None:
        self.model = model
        self.classes = classes
        self.max_features = max_features
        self._learner: Any = None
        self._columns: dict[Any, int] = {}
        self._labels: list[Any] = [False, True] if classes is None else list(dict.fromkeys(classes))
        if len(self._labels) < 2:
            raise ValueError(f"classes must name at least two classes, got {classes!r}.")

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Features by their names, numbers or booleans.
        y : label
            Its label.
        """
        if y not in self._labels:
            raise ValueError(
                f"y={y!r} is none of the classes {self._labels!r}: name all that will come with classes=..."
            )
        columns = dict(self._columns)
        for name in sorted(x, key=str):
            if name not in columns and len(columns) < self.max_features:
                columns[name] = len(columns)
        row = self._row(x, columns)
        first = self._learner is None
        learner = clone(self.model) if first else self._learner
        numbers = {"classes": range(len(self._labels))} if first else {}
        learner.partial_fit(row, np.array([self._labels.index(y)]), **numbers)
        self._learner, self._columns = learner, columns  # a row that is refused leaves no trace

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Scores of the classes, squashed to the sum 1.

        Parameters
        ----------
        x : dict
            Features by their names.
        kwargs : dict
            Not used.

        Returns
        -------
        dict
            A number from 0 to 1 for each class.
        """
        if self._learner is None:
            return {label: 1 / len(self._labels) for label in self._labels}
        scores = np.atleast_1d(self._learner.decision_function(self._row(x, self._columns))[0])
        shares = [1 / (1 + math.exp(-min(max(float(f), -700.0), 700.0))) for f in scores]
        if len(shares) == 1:
            shares = [1 - shares[0], shares[0]]
        total = sum(shares)
        return {label: share / total for label, share in zip(self._labels, shares, strict=True)}

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The class of a row.

        Parameters
        ----------
        x : dict
            Features by their names.
        kwargs : dict
            Not used.

        Returns
        -------
        label
            The class with the highest score.
        """
        shares = self.predict_proba_one(x)
        return max(shares, key=shares.__getitem__)

    # ------------------------------------------------------------------------------------------- River's tags

    @property
    def _multiclass(self) -> bool:
        return len(self._labels) > 2

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"model": RBP(budget=50, gamma=0.1, random_state=0)}

    # ----------------------------------------------------------------------------------------------- the rest

    def _row(self, x: dict[Any, Any], columns: dict[Any, int]) -> Any:
        """A dict as a sparse row; names without a column are passed over."""
        entries = {}
        for name, given in x.items():
            try:
                value = float(given)
            except (TypeError, ValueError):
                raise ValueError(
                    f"The feature {name!r} is {given!r}, and must be a number: encode it, for example with "
                    "river.preprocessing.OneHotEncoder."
                ) from None
            if value != 0 and name in columns:
                entries[columns[name]] = value
        places = sorted(entries)
        data = np.array([entries[place] for place in places], dtype=np.float64)
        return sparse.csr_matrix(
            (data, np.array(places, dtype=np.int32), [0, len(places)]), shape=(1, self.max_features)
        )
