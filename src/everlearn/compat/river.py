"""Learners of everlearn in River: rows are dicts that come one at a time, or data frames.

>>> from river import datasets, evaluate, metrics, preprocessing
>>> from everlearn import KOIL
>>> from everlearn.compat.river import RiverClassifier
>>> model = preprocessing.MinMaxScaler() | RiverClassifier(KOIL(gamma=1, random_state=0))
>>> bool(evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC()).get() > 0.9)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

try:
    from river import base
except ImportError as error:  # pragma: no cover
    raise ImportError('everlearn.compat.river needs River: pip install "everlearn[river]".') from error

from ..budget import RBP
from ..calibration import OnlineCalibrator, scores_of
from ._dict_rows import Layout, Memory, Names, Row

_SCALE_FROM = (10, 30, 100, 300)  # rows after which gamma="scale" is computed anew
_ALL_SCORED = 500  # rows that are all scored before they are learned; after them it is every fourth
_SCORED_SHARE = 4


class RiverClassifier(base.MiniBatchClassifier):
    """Any learner with ``partial_fit`` as a classifier of River.

    Classes need not be given: new labels are learned at any time. A learner that accepts new classes itself
    (its attribute ``grows_classes`` is True) continues. Any other is rebuilt from the last `memory_rows`
    rows, the same number of each class.

    A feature gets a column when its name first occurs, and a missing feature counts as 0, so features may
    appear and disappear. Rows are dense while there are few names or most of them are in every row, otherwise
    sparse. When a name is added to dense rows, the learner is rebuilt from the stored rows.

    Probabilities are calibrated on scores computed before the rows were learned.

    Parameters
    ----------
    estimator : classifier
        A learner of everlearn, or another one with ``partial_fit`` that scores rows. It is copied. With
        ``gamma="scale"`` it is rebuilt after 10, 30, 100 and 300 rows, with their scale.
    classes : list of labels, default=None
        All labels that can occur; others are refused. None accepts new labels at any time.
    max_features : int, default=1000
        Maximum number of columns; further names are ignored.
    calibration : {"auto", "saturating", "sigmoid", "temperature", "venn_abers", "none"}, default="auto"
        How scores become probabilities; see `everlearn.calibration.OnlineCalibrator`. With "auto", a learner
        of everlearn that has ``predict_proba`` is used directly. "none" uses fixed log-odds of 3 f for two
        classes, for speed.
    memory_rows : int, default=1000
        Number of rows stored for rebuilding the learner. With 0 it restarts empty.

    Notes
    -----
    Until two classes have been seen, rows are stored and not learned. For the calibration, each of the first
    500 rows is scored before it is learned, then every fourth.
    """

    def __init__(
        self,
        estimator: Any,
        classes: list[Any] | None = None,
        max_features: int = 1000,
        calibration: str = "auto",
        memory_rows: int = 1000,
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.max_features = max_features
        self.calibration = calibration
        self.memory_rows = memory_rows
        self._labels: list[Any] = [] if classes is None else list(dict.fromkeys(map(_python_value, classes)))
        if classes is not None and len(self._labels) < 2:
            raise ValueError(f"classes must name at least two classes, got {classes!r}.")
        if not (isinstance(memory_rows, int) and memory_rows >= 0):
            raise ValueError(f"memory_rows must be an integer, 0 or above, got {memory_rows!r}.")
        self._codes = {label: code for code, label in enumerate(self._labels)}
        self._names = Names([], max_features)
        self._memory = Memory(memory_rows)
        self._layout: Layout | None = None
        self._learner: Any = None
        self._n_classes = 0  # that the learner was told about
        self._n_learned = 0
        self._calibrator = OnlineCalibrator("auto" if calibration == "none" else calibration)
        self._speaks_for_itself = (
            calibration == "auto"
            and hasattr(estimator, "predict_proba")
            and type(estimator).__module__.startswith("everlearn")
        )
        self._grows = bool(getattr(estimator, "grows_classes", False))
        self._scored: tuple[bytes, Any] | None = None  # the last row scored; no part of the state

    # -------------------------------------------------------------------------------------------- one row

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Features by their names, numbers or booleans.
        y : label
            Its label.
        """
        label = _python_value(y)
        self._check_label(label)
        code = self._codes.get(label, len(self._labels))
        names = self._names.joined_by(x)
        row = names.row(x)
        learner, layout, scores, known = self._learner, self._layout, None, None
        n_classes = max(len(self._labels), code + 1)
        if learner is not None and self._is_scored_first():
            scores = self._scores(self._layout_row(x, row))
            known = np.array(learner.classes_)
        if learner is not None and not self._is_outgrown(n_classes, names):
            learner.partial_fit(self._layout_row(x, row), np.array([code]))
        elif n_classes > 1:
            rows, codes = self._memory.all()
            layout = Layout.choose(names, [*rows, row], layout)
            learner = clone(self.estimator)
            options = {} if self._grows else {"classes": range(n_classes)}
            learner.partial_fit(layout.matrix([*rows, row]), np.array([*codes, code]), **options)
        else:  # the first class: whether the learner would accept the row
            trial = clone(self.estimator)
            trial.partial_fit(
                Layout.choose(names, [row], None).matrix([row]), np.array([0]), classes=range(2)
            )
        # Nothing has changed up to here: a row that is refused leaves no trace.
        if scores is not None:
            self._calibrator.update(scores, [code], classes=known)
        if code == len(self._labels):
            self._labels.append(label)
            self._codes[label] = code
        if learner is not None:
            self._n_classes = n_classes
        self._names, self._layout, self._learner, self._scored = names, layout, learner, None
        self._memory.add(row, code)
        self._n_learned += 1

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Calibrated probabilities of the classes.

        Parameters
        ----------
        x : dict
            Features by their names.
        kwargs : dict
            Not used.

        Returns
        -------
        dict
            A probability for each class known so far.
        """
        if self._learner is None:
            return {label: 1 / len(self._labels) for label in self._labels}
        shares = self._proba(self._layout_row(x))[0].tolist()
        return dict(zip(self._labels, shares, strict=True))

    # ----------------------------------------------------------------------------------------- mini-batches

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame, with the result of `learn_one` for one after the other.

        Parameters
        ----------
        X : pandas.DataFrame
            The rows; NaN is a feature that the row does not have.
        y : pandas.Series
            Their labels.
        """
        labels = [_python_value(label) for label in y.tolist()]
        if len(labels) != len(X):
            raise ValueError(f"X and y must have the same length, got {len(X)} and {len(labels)}.")
        for label in labels:
            self._check_label(label)
        names, values = _frame(X)
        start = 0
        while start < len(labels):
            stop = self._plain_run(names, labels, start)
            if stop > start + 1:
                self._learn_run(names, values[start:stop], labels[start:stop])
            else:
                stop = start + 1
                self.learn_one(_as_dict(names, values[start]), labels[start])
            start = stop

    def predict_proba_many(self, X: Any) -> Any:
        """Calibrated probabilities of the classes for each row.

        Parameters
        ----------
        X : pandas.DataFrame
            The rows.

        Returns
        -------
        pandas.DataFrame
            A column for each class known so far.
        """
        import pandas as pd  # type: ignore[import-untyped]

        if self._learner is None or not len(X):
            shares = np.full((len(X), len(self._labels)), 1 / max(len(self._labels), 1))
        else:
            shares = self._proba(self._block(*_frame(X)))
        return pd.DataFrame(shares, index=X.index, columns=pd.Index(self._labels, dtype=object))

    def predict_many(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : pandas.DataFrame
            The rows.

        Returns
        -------
        pandas.Series
            The labels; None before any label has come.
        """
        import pandas as pd

        shares = self.predict_proba_many(X).to_numpy()
        labels = self._labels or [None]
        best = shares.argmax(axis=1) if self._labels else np.zeros(len(X), dtype=np.intp)
        found = [labels[place] for place in best.tolist()]
        kinds = {type(label) for label in self._labels}
        return pd.Series(found, index=X.index, dtype=None if kinds <= {bool} and found and kinds else object)

    # ------------------------------------------------------------------------------------------- River's tags

    @property
    def _multiclass(self) -> bool:
        return self.classes is None or len(self._labels) > 2

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"estimator": RBP(budget=50, gamma=0.1, random_state=0)}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_scored": None}

    # ----------------------------------------------------------------------------------------------- the rest

    def _check_label(self, label: Any) -> None:
        if label is None or label != label:
            raise ValueError(f"y={label!r} is not a label: pass only rows with a known label.")
        if self.classes is not None and label not in self._codes:
            raise ValueError(
                f"y={label!r} is not one of the classes {self._labels!r}: pass all labels with "
                "classes=..., or leave classes out to accept new labels at any time."
            )

    def _is_scored_first(self) -> bool:
        """Whether the next row is scored for the calibration before it is learned."""
        if self._speaks_for_itself or self.calibration == "none":
            return False
        return self._n_learned < _ALL_SCORED or self._n_learned % _SCORED_SHARE == 0

    def _is_outgrown(self, n_classes: int, names: Names) -> bool:
        """Whether the learner must be built anew: for a class, a column, or a better scale."""
        if self._layout is not None and not self._layout.holds(names):
            return True
        if self._grows:
            return False
        scaled = getattr(self.estimator, "gamma", None) == "scale" and self._n_learned + 1 in _SCALE_FROM
        return n_classes > self._n_classes or scaled

    def _layout_row(self, x: dict[Any, Any], row: Row | None = None) -> Any:
        """A row as the learner has them."""
        layout = self._layout
        assert layout is not None
        if layout.is_dense:
            return self._names.dense(x, layout.width)
        return layout.matrix([self._names.row(x) if row is None else row])

    def _scores(self, matrix: Any) -> Any:
        """Scores of rows; those of the last single row are remembered until the next is learned."""
        if len(matrix.shape) == 2 and matrix.shape[0] > 1:
            return scores_of(self._learner, matrix)
        key = (
            matrix.tobytes()
            if isinstance(matrix, np.ndarray)
            else matrix.data.tobytes() + matrix.indices.tobytes()
        )
        if self._scored is None or self._scored[0] != key:
            self._scored = key, scores_of(self._learner, matrix)
        return self._scored[1]

    def _proba(self, matrix: Any) -> Any:
        """Probabilities of all labels known."""
        classes = np.asarray(self._learner.classes_, dtype=np.intp)
        if self._speaks_for_itself:
            found = self._learner.predict_proba(matrix)
        else:
            found = self._calibrator.predict_proba(self._scores(matrix), classes=classes)
        if len(classes) == len(self._labels) and classes[-1] == len(classes) - 1:
            return found
        shares = np.zeros((matrix.shape[0], len(self._labels)))
        shares[:, classes] = found
        return shares

    def _block(self, names: list[Any], values: Any) -> Any:
        """Rows of a data frame as the learner has them."""
        layout, column = self._layout, self._names.column
        assert layout is not None
        if (
            np.isinf(values).any() or not layout.is_dense
        ):  # the former is refused with the name of the feature
            return layout.matrix([self._names.row(_as_dict(names, row)) for row in values])
        known = [at for at, name in enumerate(names) if column.get(name, layout.width) < layout.width]
        dense = np.zeros((len(values), layout.width))
        found = values[:, known]
        dense[:, [column[names[at]] for at in known]] = np.where(np.isnan(found), 0.0, found)
        return dense

    def _plain_run(self, names: list[Any], labels: list[Any], start: int) -> int:
        """The end of the rows from a start on that the learner, as it is, can learn at once."""
        learned = self._n_learned - start
        if (
            self._learner is None
            or self._names.joined_by(names) is not self._names
            or learned + start < max(_ALL_SCORED, _SCALE_FROM[-1])
        ):
            return start
        scores = not (self._speaks_for_itself or self.calibration == "none")
        stop = start
        while stop < len(labels) and labels[stop] in self._codes:
            if scores and stop > start and (learned + stop) % _SCORED_SHARE == 0:
                break
            stop += 1
        return stop

    def _learn_run(self, names: list[Any], values: Any, labels: list[Any]) -> None:
        """Learn rows of known names and labels at once; only the first may be one that is scored before."""
        codes = [self._codes[label] for label in labels]
        matrix = self._block(names, values)
        rows = [self._names.row(_as_dict(names, row)) for row in values]
        scores = self._scores(matrix[:1]) if self._is_scored_first() else None
        known = np.array(self._learner.classes_)
        self._learner.partial_fit(matrix, np.array(codes))
        if scores is not None:
            self._calibrator.update(scores, codes[:1], classes=known)
        for row, code in zip(rows, codes, strict=True):
            self._memory.add(row, code)
        self._scored = None
        self._n_learned += len(codes)


def _frame(X: Any) -> tuple[list[Any], Any]:
    """The names and the values of a data frame, without columns in which nothing is known."""
    values = X.to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.flatnonzero(~np.isnan(values).all(axis=0)) if len(values) else np.arange(len(X.columns))
    return [_python_value(X.columns[place]) for place in known.tolist()], values[:, known]


def _as_dict(names: list[Any], values: Any) -> dict[Any, float]:
    return {name: value for name, value in zip(names, values.tolist(), strict=True) if value == value}


def _python_value(value: Any) -> Any:
    """A label or a name as a value of Python's own."""
    return value.item() if isinstance(value, np.generic) else value
