"""everlearn's learners in River: rows are dicts, one at a time, or data frames.

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
from ._dict_rows import Layout, Memory, Names, Row, sparse_row

_RESCALE_AT = (10, 30, 100, 300)  # numbers of rows at which gamma="scale" is recomputed
_ALL_SCORED = 500  # each of the first rows is scored for the calibration before it is learned
_SCORED_EVERY = 4  # after that, one row out of this many


class RiverClassifier(base.MiniBatchClassifier):
    """Any learner with ``partial_fit`` as a River classifier.

    New classes may appear at any time. A learner that accepts new classes (its attribute ``grows_classes`` is
    True) is updated. Any other learner is retrained on the last `memory_rows` rows, with equally many rows
    per class.

    A feature name gets a column when it first appears. A name that is missing in a row counts as 0. Rows are
    dense if there are few names or if most names occur in every row, otherwise sparse. When a new name widens
    dense rows, the learner is retrained on the stored rows.

    Probabilities are calibrated on scores that were computed before the row was learned.

    Parameters
    ----------
    estimator : classifier
        A learner with ``partial_fit`` and ``decision_function`` or ``predict_proba``. It is cloned. With
        ``gamma="scale"`` it is retrained after 10, 30, 100 and 300 rows, with gamma computed from these rows.
    classes : list of labels, default=None
        All labels; any other label raises an error. With None, new labels may appear at any time.
    max_features : int, default=1000
        Maximum number of columns. When all are in use, new names are ignored.
    calibration : {"auto", "saturating", "sigmoid", "temperature", "venn_abers", "none"}, default="auto"
        How scores become probabilities; see `everlearn.calibration.OnlineCalibrator`. With "auto" the
        ``predict_proba`` of an everlearn learner is used if it has one. "none" uses fixed log-odds of 3 f for
        two classes, which is faster.
    memory_rows : int, default=1000
        Number of rows stored for retraining. With 0 the learner starts from scratch instead.

    Notes
    -----
    Until there are two classes, rows are stored but not learned. Each of the first 500 rows is scored for the
    calibration before it is learned, then every fourth row.
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
            raise ValueError(f"classes must have at least two classes, got {classes!r}.")
        if not (isinstance(memory_rows, int) and memory_rows >= 0):
            raise ValueError(f"memory_rows must be a non-negative integer, got {memory_rows!r}.")
        self._codes = {label: code for code, label in enumerate(self._labels)}
        self._names = Names([], max_features)
        self._memory = Memory(memory_rows)
        self._layout: Layout | None = None
        self._learner: Any = None
        self._n_classes = 0  # of the learner
        self._n_learned = 0
        self._calibrator = OnlineCalibrator("auto" if calibration == "none" else calibration)
        self._has_own_proba = (
            calibration == "auto"
            and hasattr(estimator, "predict_proba")
            and type(estimator).__module__.startswith("everlearn")
        )
        self._grows = bool(getattr(estimator, "grows_classes", False))
        self._scored: tuple[bytes, Any] | None = None  # cache: the last scored row, not part of the state

    # ----------------------------------------------------------------------------------------- single rows

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Features by name; values are numbers or booleans.
        y : label
            The label.
        """
        label = _python_value(y)
        self._check_label(label)
        code = self._codes.get(label, len(self._labels))
        names = self._names.extended(x)
        learner, layout, scores, known = self._learner, self._layout, None, None
        matrix: Any = names.complete(x, layout.width) if layout is not None and layout.is_dense else None
        row: Any = names.row(x) if matrix is None else matrix[0]
        n_classes = max(len(self._labels), code + 1)
        if learner is not None:
            matrix = self._layout_row(x, row) if matrix is None else matrix
            if self._is_scored_first():
                scores = self._scores(matrix)
                known = np.array(learner.classes_)
        if learner is not None and not self._needs_retraining(n_classes, names):
            learner.partial_fit(matrix, np.array([code]))
        elif n_classes > 1:
            rows, codes = self._memory.all()
            rows.append(sparse_row(row))
            layout = Layout.choose(names, rows, layout)
            learner = clone(self.estimator)
            options = {} if self._grows else {"classes": range(n_classes)}
            learner.partial_fit(layout.matrix(rows), np.array([*codes, code]), **options)
        else:  # only one class so far: check that the learner accepts the row
            trial = clone(self.estimator)
            trial.partial_fit(
                Layout.choose(names, [row], None).matrix([row]), np.array([0]), classes=range(2)
            )
        # Nothing has changed up to here, so a row that raises an error leaves the classifier unchanged.
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

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The most probable class.

        Parameters
        ----------
        x : dict
            Features by name.
        kwargs : dict
            Ignored.

        Returns
        -------
        label
            The class; None if no label has been learned yet.
        """
        if len(self._labels) == self._n_classes == 2 and not (self._has_own_proba or self._grows):
            scores = self._scores(self._layout_row(x))
            second = self._calibrator.prefers_second(scores, (0, 1))
            if second is not None:
                return self._labels[second]
        return super().predict_one(x, **kwargs)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Calibrated probabilities of the classes.

        Parameters
        ----------
        x : dict
            Features by name.
        kwargs : dict
            Ignored.

        Returns
        -------
        dict
            The probability of each class seen so far.
        """
        if self._learner is None:
            return {label: 1 / len(self._labels) for label in self._labels}
        proba = self._proba(self._layout_row(x))[0].tolist()
        return dict(zip(self._labels, proba, strict=True))

    # ----------------------------------------------------------------------------------------- mini-batches

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame; the result is the same as calling `learn_one` for each row.

        Parameters
        ----------
        X : pandas.DataFrame
            The rows; NaN is a missing feature.
        y : pandas.Series
            The labels.
        """
        labels = [_python_value(label) for label in y.tolist()]
        if len(labels) != len(X):
            raise ValueError(f"X and y must have the same length, got {len(X)} and {len(labels)}.")
        for label in labels:
            self._check_label(label)
        names, values = _frame(X)
        start = 0
        while start < len(labels):
            stop = self._batch_end(names, labels, start)
            if stop > start + 1:
                self._learn_batch(names, values[start:stop], labels[start:stop])
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
            One column for each class seen so far.
        """
        import pandas as pd  # type: ignore[import-untyped]

        if self._learner is None or not len(X):
            proba = np.full((len(X), len(self._labels)), 1 / max(len(self._labels), 1))
        else:
            proba = self._proba(self._block(*_frame(X)))
        return pd.DataFrame(proba, index=X.index, columns=pd.Index(self._labels, dtype=object))

    def predict_many(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : pandas.DataFrame
            The rows.

        Returns
        -------
        pandas.Series
            The labels; None if no label has been learned yet.
        """
        import pandas as pd

        proba = self.predict_proba_many(X).to_numpy()
        labels = self._labels or [None]
        best = proba.argmax(axis=1) if self._labels else np.zeros(len(X), dtype=np.intp)
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

    # ---------------------------------------------------------------------------------------------- internals

    def _check_label(self, label: Any) -> None:
        if label is None or label != label:
            raise ValueError(f"y={label!r} is not a label: pass labeled rows only.")
        if self.classes is not None and label not in self._codes:
            raise ValueError(
                f"y={label!r} is not one of the classes {self._labels!r}: pass all labels in classes, or "
                "omit classes to accept new labels."
            )

    def _is_scored_first(self) -> bool:
        """Whether to score the next row for the calibration before learning it."""
        if self._has_own_proba or self.calibration == "none":
            return False
        return self._n_learned < _ALL_SCORED or self._n_learned % _SCORED_EVERY == 0

    def _needs_retraining(self, n_classes: int, names: Names) -> bool:
        """Whether the learner must be retrained for a new class, a new column, or a better scale."""
        if self._layout is not None and not self._layout.holds(names):
            return True
        if self._grows:
            return False
        scaled = getattr(self.estimator, "gamma", None) == "scale" and self._n_learned + 1 in _RESCALE_AT
        return n_classes > self._n_classes or scaled

    def _layout_row(self, x: dict[Any, Any], row: Row | None = None) -> Any:
        """A row in the layout of the learner."""
        layout = self._layout
        assert layout is not None
        if layout.is_dense:
            return self._names.dense(x, layout.width)
        return layout.matrix([self._names.row(x) if row is None else row])

    def _scores(self, matrix: Any) -> Any:
        """Scores of rows; those of the last single row are cached until the next row is learned."""
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
        """Probabilities of all classes seen so far; 0 for a class that the learner does not know."""
        classes = np.asarray(self._learner.classes_, dtype=np.intp)
        if self._has_own_proba:
            found = self._learner.predict_proba(matrix)
        else:
            found = self._calibrator.predict_proba(self._scores(matrix), classes=classes)
        if len(classes) == len(self._labels) and classes[-1] == len(classes) - 1:
            return found
        proba = np.zeros((matrix.shape[0], len(self._labels)))
        proba[:, classes] = found
        return proba

    def _block(self, names: list[Any], values: Any) -> Any:
        """Rows of a data frame in the layout of the learner."""
        layout, column = self._layout, self._names.column
        assert layout is not None
        if np.isinf(values).any() or not layout.is_dense:  # for infinite values, row() names the feature
            return layout.matrix([self._names.row(_as_dict(names, row)) for row in values])
        known = [at for at, name in enumerate(names) if column.get(name, layout.width) < layout.width]
        dense = np.zeros((len(values), layout.width))
        found = values[:, known]
        dense[:, [column[names[at]] for at in known]] = np.where(np.isnan(found), 0.0, found)
        return dense

    def _batch_end(self, names: list[Any], labels: list[Any], start: int) -> int:
        """End of the rows, from `start` on, that the learner can learn in one call without retraining."""
        learned = self._n_learned - start
        if (
            self._learner is None
            or self._names.extended(names) is not self._names
            or learned + start < max(_ALL_SCORED, _RESCALE_AT[-1])
        ):
            return start
        scores = not (self._has_own_proba or self.calibration == "none")
        stop = start
        while stop < len(labels) and labels[stop] in self._codes:
            if scores and stop > start and (learned + stop) % _SCORED_EVERY == 0:
                break
            stop += 1
        return stop

    def _learn_batch(self, names: list[Any], values: Any, labels: list[Any]) -> None:
        """Learn rows with known names and labels in one call; only the first may be scored beforehand."""
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
    """The names and the values of a data frame, without columns that are all NaN."""
    values = X.to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.flatnonzero(~np.isnan(values).all(axis=0)) if len(values) else np.arange(len(X.columns))
    return [_python_value(X.columns[place]) for place in known.tolist()], values[:, known]


def _as_dict(names: list[Any], values: Any) -> dict[Any, float]:
    return {name: value for name, value in zip(names, values.tolist(), strict=True) if value == value}


def _python_value(value: Any) -> Any:
    """A NumPy scalar as a Python value."""
    return value.item() if isinstance(value, np.generic) else value
