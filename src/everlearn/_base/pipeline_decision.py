"""The decision function of a pipeline of scikit-learn: its transformers are steps before the learner's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .decision import Array, Decision, Floats, Graph, MatrixProduct, Standardize, Step, UnitLength, dense
from .pipelines import is_transformer

_DRAWN = 200  # rows to compare on, if the learner keeps none


@dataclass(frozen=True)
class Columns:
    """Some columns."""

    places: Array

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        return graph.node("Gather", x, graph.constant(self.places.astype(np.int64)), axis=1)

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return X[:, self.places]


@dataclass(frozen=True)
class Clip:
    """Values limited to a range."""

    low: float
    high: float

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        return graph.node(
            "Clip", x, graph.constant(np.float64(self.low)), graph.constant(np.float64(self.high))
        )

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return np.clip(X, self.low, self.high)


@dataclass(frozen=True)
class Fill:
    """Missing values replaced by one value for each column."""

    values: Floats

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        return graph.node("Where", graph.node("IsNaN", x), graph.constant(self.values), x)

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return np.where(np.isnan(X), self.values, X)


@dataclass(frozen=True)
class IsMissing:
    """1 where a value is missing, otherwise 0."""

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        one, zero = (graph.constant(np.float64(value)) for value in (1, 0))
        return graph.node("Where", graph.node("IsNaN", x), one, zero)

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return np.isnan(X).astype(np.float64)


@dataclass(frozen=True)
class OneOf:
    """For one column, a column for each value: 1 where it has this value, otherwise 0."""

    values: Floats

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        one, zero = (graph.constant(np.float64(value)) for value in (1, 0))
        return graph.node("Where", graph.node("Equal", x, graph.constant(self.values)), one, zero)

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return np.equal(X, self.values).astype(np.float64)


@dataclass(frozen=True)
class SideBySide:
    """The columns of several chains of steps, each applied to the same rows."""

    parts: Sequence[Sequence[Step]]

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        ends = []
        for steps in self.parts:
            end = x
            for step in steps:
                end = step.write(graph, end)
            ends.append(end)
        return graph.node("Concat", *ends, axis=1)

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return np.hstack([applied(steps, X) for steps in self.parts])


def applied(steps: Sequence[Step], X: Floats) -> Floats:
    """The outcome of a chain of steps."""
    for step in steps:
        X = step.apply(X)
    return X


def pipeline_decision(pipeline: Any, learner: Decision) -> Decision:
    """The decision function of a fitted pipeline whose last step has this one.

    The examples are rows that the transformers would turn into those of the learner, as far as they can be
    inverted.
    """
    check_is_fitted(pipeline)
    transformers = [step for _, step in pipeline.steps[:-1] if step not in (None, "passthrough")]
    steps = [step for transformer in transformers for step in steps_of(transformer)]
    examples = learner.examples
    if len(examples) == 0:
        examples = np.random.default_rng(0).standard_normal((_DRAWN, examples.shape[1]))
    for transformer in reversed(transformers):
        examples = _undone(transformer, examples)
    discrete = any(_is_discrete(transformer) for transformer in transformers)
    return replace(learner.after(steps, examples), discrete=discrete)


def steps_of(transformer: Any) -> list[Step]:
    """A fitted transformer as steps; an error if it has no such form."""
    name = type(transformer).__name__
    make = _STEPS.get(name) if is_transformer(transformer) else None
    if make is None:
        raise TypeError(
            f"{name} cannot be exported to ONNX: use {', '.join(sorted(_STEPS))}; or transform the rows "
            "before the file is used, and export the last step of the pipeline."
        )
    found: list[Step] = make(transformer)
    return found


def _standard(scaler: Any) -> list[Step]:
    width = scaler.n_features_in_
    mean = np.zeros(width) if scaler.mean_ is None or not scaler.with_mean else scaler.mean_
    return [Standardize(mean, np.ones(width) if scaler.scale_ is None else scaler.scale_)]


def _min_max(scaler: Any) -> list[Step]:
    scaled: list[Step] = [Standardize(-scaler.min_ / scaler.scale_, 1 / scaler.scale_)]
    return [*scaled, Clip(*map(float, scaler.feature_range))] if scaler.clip else scaled


def _max_abs(scaler: Any) -> list[Step]:
    return [Standardize(np.zeros(len(scaler.scale_)), scaler.scale_)]


def _robust(scaler: Any) -> list[Step]:
    width = scaler.n_features_in_
    center = scaler.center_ if scaler.with_centering else np.zeros(width)
    return [Standardize(center, scaler.scale_ if scaler.with_scaling else np.ones(width))]


def _normalizer(normalizer: Any) -> list[Step]:
    if normalizer.norm != "l2":
        raise ValueError(f'Normalizer(norm={normalizer.norm!r}) cannot be exported to ONNX: use norm="l2".')
    return [UnitLength()]


def _imputer(imputer: Any) -> list[Step]:
    values = np.asarray(imputer.statistics_)
    if values.dtype.kind not in "biuf" or not _is_nan(imputer.missing_values):
        raise ValueError(
            "SimpleImputer can be exported to ONNX only for numbers, with missing_values=numpy.nan."
        )
    kept = np.flatnonzero(~np.isnan(values.astype(np.float64)))  # columns without a value are dropped
    filled: list[Step] = [Columns(kept), Fill(values[kept].astype(np.float64))]
    if imputer.indicator_ is None or not len(imputer.indicator_.features_):
        return filled
    return [SideBySide([filled, [Columns(imputer.indicator_.features_), IsMissing()]])]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _pca(pca: Any) -> list[Step]:
    weights = pca.components_.T.astype(np.float64)
    if pca.whiten:
        scale = np.sqrt(pca.explained_variance_)
        weights = weights / np.maximum(scale, np.finfo(scale.dtype).eps)
    return [Standardize(pca.mean_, np.ones(len(pca.mean_))), MatrixProduct(weights)]


def _svd(svd: Any) -> list[Step]:
    return [MatrixProduct(svd.components_.T.astype(np.float64))]


def _one_hot(encoder: Any) -> list[Step]:
    parts: list[list[Step]] = []
    if getattr(encoder, "infrequent_categories_", None) is not None:
        raise ValueError("OneHotEncoder with infrequent categories cannot be exported to ONNX.")
    dropped = encoder.drop_idx_
    for column, categories in enumerate(encoder.categories_):
        values = list(categories)
        if dropped is not None and dropped[column] is not None:
            del values[int(dropped[column])]
        try:
            numbers = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.array([np.nan])
        if not (numbers == numbers.astype(np.float32)).all():
            raise ValueError(
                f"OneHotEncoder cannot be exported to ONNX with the categories {values[:3]!r}: the file "
                "takes numbers. Encode categories as integers before the pipeline."
            )
        if len(numbers):
            parts.append([Columns(np.array([column])), OneOf(numbers)])
    return [SideBySide(parts)]


def _nothing(transformer: Any) -> list[Step]:
    if transformer.func is not None:
        raise ValueError("FunctionTransformer can be exported to ONNX only without a function.")
    return []


def _nested(pipeline: Any) -> list[Step]:
    chosen = [step for _, step in pipeline.steps if step not in (None, "passthrough")]
    return [step for transformer in chosen for step in steps_of(transformer)]


def _column_transformer(transformer: Any) -> list[Step]:
    if transformer.transformer_weights:
        raise ValueError("ColumnTransformer with transformer_weights cannot be exported to ONNX.")
    parts = []
    for part, places in _parts_of(transformer):
        inner = [] if isinstance(part, str) else steps_of(part)
        parts.append([Columns(places), *inner])
    return [SideBySide(parts)]


def _parts_of(transformer: Any) -> list[tuple[Any, Array]]:
    """The transformers of a `ColumnTransformer` with the places of their columns, without empty ones."""
    width, names = transformer.n_features_in_, list(getattr(transformer, "feature_names_in_", ()))
    found = []
    for _, part, columns in transformer.transformers_:
        chosen = [columns] if isinstance(columns, str | int) else columns
        if isinstance(chosen, slice):
            start, stop = (names.index(e) if isinstance(e, str) else e for e in (chosen.start, chosen.stop))
            stop = stop + 1 if isinstance(chosen.stop, str) else stop  # a range of names includes the last
            places = np.arange(width)[start : stop : chosen.step]
        else:
            listed = [names.index(name) if isinstance(name, str) else name for name in chosen]
            places = np.arange(width)[np.array(listed, dtype=None if listed else np.intp)]
        if len(places) and not (isinstance(part, str) and part == "drop"):
            found.append((part, places))
    return found


_STEPS: dict[str, Any] = {
    "ColumnTransformer": _column_transformer,
    "FunctionTransformer": _nothing,
    "MaxAbsScaler": _max_abs,
    "MinMaxScaler": _min_max,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot,
    "PCA": _pca,
    "Pipeline": _nested,
    "RobustScaler": _robust,
    "SimpleImputer": _imputer,
    "StandardScaler": _standard,
    "TruncatedSVD": _svd,
}


def _is_discrete(transformer: Any) -> bool:
    """Whether small changes of a row can be refused, because its values are codes."""
    name = type(transformer).__name__
    if name == "Pipeline":
        return any(_is_discrete(step) for _, step in transformer.steps)
    if name == "ColumnTransformer":
        return any(_is_discrete(part) for _, part, _ in transformer.transformers_)
    return name == "OneHotEncoder"


def _undone(transformer: Any, rows: Floats) -> Floats:
    """Rows that a transformer turns into these, or similar ones."""
    name = type(transformer).__name__
    if name == "Pipeline":
        for _, step in reversed(transformer.steps):
            rows = rows if isinstance(step, str) or step is None else _undone(step, rows)
        return rows
    if name == "ColumnTransformer":
        made = np.zeros((len(rows), transformer.n_features_in_))
        end = 0
        for part, places in _parts_of(transformer):
            width = (
                len(places) if isinstance(part, str) else applied(steps_of(part), made[:1, places]).shape[1]
            )
            inner = rows[:, end : end + width]
            made[:, places] = inner if isinstance(part, str) else _undone(part, inner)
            end += width
        return made
    if name == "SimpleImputer":
        made = np.tile(np.nan_to_num(np.asarray(transformer.statistics_, dtype=np.float64)), (len(rows), 1))
        kept = np.flatnonzero(~np.isnan(transformer.statistics_.astype(np.float64)))
        made[:, kept] = rows[:, : len(kept)]
        made[::3, kept[len(kept) // 2]] = np.nan  # so that missing values are compared, too
        return made
    if not hasattr(transformer, "inverse_transform"):
        return rows
    return dense(transformer.inverse_transform(rows))
