"""Export of a fitted classifier to an ONNX file, which other programs and languages can run.

The file maps rows to labels and decision values. It cannot learn; `everlearn.save` saves a learner that can.
Needs the packages onnx and onnxruntime: ``pip install "everlearn[onnx]"``.
"""

import importlib
import importlib.metadata
import itertools
import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .. import _atomic
from .._base.decision import Array, Decision, Floats, Standardize, describe
from . import _graph

__all__ = ["OnnxReport", "export_onnx"]

_MOST_CHECKED = 1000
_MOST_NUMBERS = 10_000_000  # in the rows that are checked unless others are given
_LONG_RUN = 1000  # numbered names from which the metadata has only the first and the last
_DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class OnnxReport:
    """What was written, and how closely it agrees with the learner.

    Attributes
    ----------
    path : str
        The file.
    size : int
        Its size in bytes.
    n_support : int
        Number of kept rows that the decision function uses; 0 for a linear learner.
    n_checked : int
        Number of rows on which the file was compared with the learner.
    max_relative_difference : float
        The largest difference of decision values, relative to the largest decision value of these rows.
    compute_dtype : str
        The precision of the computation between input and output: "float32", or "float64" if that was not
        enough.
    opset : int
        The version of ONNX's operators.
    """

    path: str
    size: int
    n_support: int
    n_checked: int
    max_relative_difference: float
    compute_dtype: str
    opset: int


def export_onnx(
    model: Any,
    path: Any,
    *,
    mean: Any = None,
    scale: Any = None,
    feature_names: Sequence[str] | None = None,
    X_check: Any = None,
    dtype: str = "float32",
    rtol: float = 1e-4,
) -> OnnxReport:
    """Write the decision function of a fitted learner as an ONNX file.

    The input is "X", of shape (rows, n_features). The outputs are "label", 64-bit integers (0 and 1 for False
    and True) or strings, and "scores", the values of `decision_function`: of shape (rows,) for two classes,
    otherwise with a column for each class, in the order of `classes_`.

    Before the file gets its name, its scores are compared with those of the learner. If they disagree,
    nothing is written, and an existing file is kept.

    Parameters
    ----------
    model : classifier
        A fitted learner of everlearn with a decision function, `LinearSVC`, `SVC` with two classes, or a
        `Pipeline` that ends with one of them: its scalers, `Normalizer`, `SimpleImputer`, `PCA`,
        `TruncatedSVD`, `OneHotEncoder` of numbers and `ColumnTransformer` become part of the file. An
        `AdaptiveSVM` is written with its whole committee, its current weights and its scaling of the
        features. Experts from other libraries (``Expert(estimator=...)``) cannot be written: they raise an
        error, unless their weight is below 1e-6.
    path : path
        The file to write, usually with the extension ".onnx". A store or another SQLite database is never
        overwritten.
    mean : array-like of shape (n_features,) or float, default=None
        The mean, if the learner was trained on standardized rows (x - mean) / scale: the file then takes rows
        that are not standardized.
    scale : array-like of shape (n_features,) or float, default=None
        The scale of these rows.
    feature_names : sequence of str, default=None
        Names of the features for the metadata of the file; None uses those of the learner, if it has any.
    X_check : array-like or sparse matrix of shape (n_rows, n_features), default=None
        Rows on which to compare, in the form that the file takes. None uses up to 1,000 rows: those kept by
        the learner and others near them, or rows drawn from a normal distribution if it keeps none.
    dtype : {"float32", "float64"}, default="float32"
        The type of input and scores. With "float32" the file also computes in single precision, unless the
        comparison shows that this is not enough.
    rtol : float, default=1e-4
        How far the decision values may be from those of the learner, relative to the largest one. Labels must
        agree except on rows that are closer than that to a boundary.

    Returns
    -------
    OnnxReport
        What was written, and how closely it agrees.

    Notes
    -----
    A learner refuses rows that are not finite or overflow. An ONNX file cannot: for such rows its scores are
    NaN and its label is arbitrary.

    Zeros take no space in the file: for rows of text, it has only the words of the support vectors. The
    metadata "everlearn.feature_names" has the names as JSON; hashed columns are one entry, such as
    "text#0...65535".

    The experts of an `AdaptiveSVM` share their support vectors in the file, and the distances to them. The
    scores are decision values: the probabilities of `AdaptiveSVM.predict_proba` are not in the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.export import export_onnx
    >>> X, y = make_banana(500, random_state=0)
    >>> clf = LASVM(C=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export_onnx(clf, os.path.join(folder, "banana.onnx"))
    >>> report.n_support == len(clf.support_), report.compute_dtype, report.max_relative_difference < 1e-4
    (True, 'float32', True)
    """
    if dtype not in _DTYPES:
        raise ValueError(f'dtype must be "float32" or "float64", got {dtype!r}.')
    if isinstance(rtol, bool) or not isinstance(rtol, int | float | np.number) or not 0 < rtol < 1:
        raise ValueError(f"rtol must be a number between 0 and 1, both excluded, got {rtol!r}.")
    onnx, runtime = _needed("onnx"), _needed("onnxruntime")
    decision = describe(model)
    width = int(model.n_features_in_)
    before = _standardization(mean, scale, width)
    names = _names(feature_names, model, width)
    labels = _labels(decision.classes)
    with np.errstate(over="ignore"):  # the learner refuses rows that become infinite
        rows = _rows_to_check(X_check, decision, before, width).astype(dtype)
    check = _Check(model, decision, labels, rows, before, float(rtol))
    decision = decision.after([before], rows).simplified()
    # The signs of a vote may change with the last digits of what they are the signs of.
    precisions = _DTYPES if dtype == "float32" and not decision.ballots else ("float64",)
    for inner in precisions:
        graph = _graph.model(decision, labels, width, dtype, inner, onnx)
        _describe_file(graph, model, decision, labels, names, onnx)
        data: bytes = graph.SerializeToString()
        complaint, difference = check.compare(data, runtime)
        if complaint is None:
            break
    else:
        missing = ", ".join(map(repr, decision.left_out))
        without = f" The file does not include the experts {missing}." if missing else ""
        raise ValueError(
            f"{complaint}{without} Nothing was written. Scale the features, or allow a larger rtol."
        )
    name = os.fsdecode(path)

    def write(file: Any) -> None:
        file.write(data)

    _atomic.write(name, write)
    return OnnxReport(name, len(data), decision.n_kept, len(rows), difference, inner, _graph.OPSET)


class _Check:
    """The decisions of a learner on some rows, to compare a file with."""

    def __init__(
        self,
        model: Any,
        decision: Decision,
        labels: Array,
        rows: Array,
        before: Standardize,
        rtol: float,
    ) -> None:
        X = before.apply(rows.astype(np.float64))
        table = _as_fitted(model, X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            scores = np.asarray(model.decision_function(table), dtype=np.float64)
            predicted = model.predict(table)
        self.rows, self.scores = rows, scores.reshape(len(rows), -1)
        self.labels = labels[np.searchsorted(decision.classes, predicted)]
        finite = np.abs(self.scores[np.isfinite(self.scores)])
        self.scale = float(finite.max(initial=0.0)) or 1.0
        self.rtol, self.doubtful = rtol, decision.doubtful(X)

    def compare(self, data: bytes, runtime: Any) -> tuple[str | None, float]:
        """What is wrong with a file, if anything, and the largest difference of its scores."""
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        parts = [session.run(None, {"X": part}) for part in _graph.parts_of(self.rows, _MOST_CHECKED)]
        labels = np.concatenate([label for label, _ in parts])
        scores = np.concatenate([score for _, score in parts]).astype(np.float64).reshape(self.scores.shape)
        with np.errstate(invalid="ignore"):  # infinite scores
            apart = np.where(scores == self.scores, 0.0, np.abs(scores - self.scores))
        difference = float(np.max(apart - self.doubtful)) / self.scale
        if not difference <= self.rtol:
            return (
                f"The scores of the ONNX file differ from those of the learner by {difference:.2g} of the "
                f"largest, on {len(self.rows)} rows; {self.rtol:g} is allowed."
            ), difference
        allowed = self.rtol * self.scale + self.doubtful.max(axis=1)
        if self.scores.shape[1] == 1:
            clear = np.abs(self.scores[:, 0]) > allowed
        else:
            order = np.sort(self.scores, axis=1)
            clear = order[:, -1] - order[:, -2] > 2 * allowed
        wrong = int(np.count_nonzero(labels[clear] != self.labels[clear]))
        if wrong:
            problem = f"The ONNX file and the learner disagree on {wrong} of {len(labels)} labels."
            return problem, difference
        return None, max(difference, 0.0)


def _as_fitted(model: Any, X: Floats) -> Any:
    """Rows in the form that a model takes: a pipeline may find columns by their names."""
    if not hasattr(model, "steps") or not hasattr(model, "feature_names_in_"):
        return X
    return _needed("pandas").DataFrame(X, columns=model.feature_names_in_)


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f'export_onnx needs {package}: pip install "everlearn[onnx]".') from error


def _standardization(mean: Any, scale: Any, width: int) -> Standardize:
    """(x - mean) / scale as a step, validated."""
    parts = []
    for name, given, default in (("mean", mean, 0.0), ("scale", scale, 1.0)):
        values = np.asarray(default if given is None else given, dtype=np.float64)
        if values.shape not in ((), (width,)):
            raise ValueError(
                f"{name} must have {width} values, one for each feature; its shape is {values.shape}."
            )
        if not np.isfinite(values).all() or (name == "scale" and not (values > 0).all()):
            above = " and above 0; take 1 for a feature that is constant" if name == "scale" else ""
            raise ValueError(f"{name} must be finite{above}.")
        parts.append(np.broadcast_to(values, width))
    return Standardize(*parts)


def _names(given: Any, model: Any, width: int) -> list[str]:
    names = getattr(model, "feature_names_in_", ()) if given is None else given
    names = [names] if isinstance(names, str) else list(names)
    if given is not None and (len(names) != width or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"feature_names must be {width} strings, one for each feature, got {given!r}.")
    return [str(name) for name in names]


def _in_ranges(names: list[str]) -> list[str]:
    """Names with long runs such as "text#0" to "text#65535" as one entry, "text#0...65535"."""
    found = []
    for _, run in itertools.groupby(enumerate(names), _run_of):
        members = [name for _, name in run]
        if len(members) < _LONG_RUN:
            found += members
        else:
            found.append(f"{members[0]}...{members[-1].rpartition('#')[2]}")
    return found


def _run_of(numbered: tuple[int, str]) -> Any:
    """A value that is the same for consecutive names "text#0", "text#1", and so on."""
    place, name = numbered
    stem, _, number = name.rpartition("#")
    return (stem, int(number) - place) if number.isdecimal() and number.isascii() else place


def _labels(classes: Array) -> Array:
    """The labels as ONNX can hold them: 64-bit integers or strings."""
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    whole = all(
        isinstance(value, int) or (isinstance(value, float) and value.is_integer()) for value in values
    )
    if whole and all(abs(value) < 2**63 for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    raise ValueError(f"Labels in an ONNX file must be integers or strings, got {values!r}: encode them.")


def _rows_to_check(given: Any, decision: Decision, before: Standardize, width: int) -> Floats:
    """The given rows, validated; else rows kept, and others as far from them as they are from each other."""
    if given is not None:
        rows = np.asarray(given.toarray() if sparse.issparse(given) else given, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != width or len(rows) == 0 or not np.isfinite(rows).all():
            raise ValueError(
                f"X_check must be rows with {width} features, at least one, all finite; got an array of "
                f"shape {rows.shape}."
            )
        return rows
    random = np.random.default_rng(0)
    half = max(5, min(_MOST_CHECKED, _MOST_NUMBERS // width) // 2)
    rows = decision.examples
    if len(rows) == 0:
        rows = random.standard_normal((half, width))
    rows = rows[np.sort(random.permutation(len(rows))[:half])]
    if decision.discrete:
        return np.asarray(rows * before.scale + before.mean)
    apart = rows.std(axis=0)
    near = rows + 0.5 * np.where(apart > 0, apart, 1.0) * random.standard_normal(rows.shape)
    return np.asarray(np.vstack([rows, near]) * before.scale + before.mean)


def _describe_file(
    graph: Any, model: Any, decision: Decision, labels: Array, names: list[str], onnx: Any
) -> None:
    """Write metadata to the file: what it is and where it comes from."""
    graph.producer_name = "everlearn"
    graph.producer_version = importlib.metadata.version("everlearn")
    graph.doc_string = f"The decision function of a {type(model).__name__} of everlearn."
    facts = {
        "everlearn.class": type(model).__name__,
        "everlearn.classes": json.dumps(labels.tolist()),
        "everlearn.rows": str(decision.n_kept),
        "everlearn.feature_names": json.dumps(_in_ranges(names)),
    }
    onnx.helper.set_model_props(graph, facts)
    onnx.checker.check_model(graph)
