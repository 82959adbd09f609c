"""Rows of any kind as partitions on the workers of a cluster."""

import glob
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._base import parts
from ..errors import EverlearnError
from ._client import n_workers


class Source(NamedTuple):
    """A partition before it is read: features, labels and weights, or None; futures, columns or a path."""

    X: Any
    y: Any
    weights: Any


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection of arrays or frames."""
    return hasattr(X, "to_delayed") and hasattr(X, "npartitions")


def is_paths(X: Any) -> bool:
    """Whether X names files."""
    if isinstance(X, str | os.PathLike):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(x, str | os.PathLike) for x in X)


def partition(client: Any, X: Any, y: Any, sample_weight: Any, n_partitions: int | None) -> list[Source]:
    """Divide rows; returns what each partition is read from. Without labels, y is None."""
    if is_paths(X) and y is None:
        return [Source(path, None, None) for path in _files(X)]
    if is_paths(X):
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if not (isinstance(value, str) or (value is None and name != "y")):
                raise TypeError(f"With files, {name} is the name of a column, got {type(value).__name__}.")
        return [Source(path, y, sample_weight) for path in _files(X)]
    if is_dask(X):
        return _collections(client, X, y, sample_weight)
    return _in_memory(client, X, y, sample_weight, n_partitions)


def _files(X: Any) -> list[str]:
    """The files that are named: a list as it is, a folder by its Parquet files, a pattern by what fits it."""
    names = [os.fspath(name) for name in (X if isinstance(X, list | tuple) else [X])]
    if isinstance(X, list | tuple) or "://" in names[0]:
        return names
    name = names[0]
    found = sorted(glob.glob(os.path.join(name, "*.parquet") if os.path.isdir(name) else name))
    if not found:
        raise FileNotFoundError(f"There is no Parquet file at {name!r}.")
    return found


def _collections(client: Any, X: Any, y: Any, sample_weight: Any) -> list[Source]:
    if not hasattr(X, "columns"):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}.")
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})  # a row is in one place
    count = X.npartitions
    columns = [_futures(client, X)]
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is None or (isinstance(value, str) and value in getattr(X, "columns", ())):
            columns.append([value] * count)
        elif isinstance(value, str) and hasattr(X, "columns"):
            raise ValueError(f"{name}={value!r} is not a column of X.")
        elif not is_dask(value):
            raise TypeError(
                f"With a Dask collection, {name} is one, too, or the name of a column of a frame; got "
                f"{type(value).__name__}."
            )
        else:
            columns.append(_futures(client, _divided_like(X, value, name)))
    return [Source(*one) for one in zip(*columns, strict=True)]


def _divided_like(X: Any, value: Any, name: str) -> Any:
    """Labels or weights in the partitions of X."""
    lengths = [tuple(getattr(each, "chunks", ((math.nan,),))[0]) for each in (X, value)]
    if not any(math.isnan(length) for each in lengths for length in each):
        if sum(lengths[0]) != sum(lengths[1]):
            raise ValueError(f"X has {sum(lengths[0])} rows and {name} has {sum(lengths[1])}.")
        return value.rechunk({0: lengths[0]})
    if value.npartitions != X.npartitions:
        raise ValueError(
            f"{name} has {value.npartitions} partitions and X has {X.npartitions}: divide both alike."
        )
    return value


def _futures(client: Any, collection: Any) -> list[Any]:
    """The partitions of a collection, which workers compute."""
    return list(client.compute(list(np.ravel(collection.to_delayed()))))


def _in_memory(client: Any, X: Any, y: Any, sample_weight: Any, n_partitions: int | None) -> list[Source]:
    names = [value for value in (y, sample_weight) if isinstance(value, str)]
    if names and not hasattr(X, "columns"):
        raise TypeError("y must be labels; the name of a column needs a frame as X.")
    for name in names:
        if name not in X.columns:
            raise ValueError(f"There is no column {name!r} in X.")
    y, sample_weight = (X[value] if isinstance(value, str) else value for value in (y, sample_weight))
    X = X[[name for name in X.columns if name not in names]] if names else X
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if y is not None and len(y) != rows:
        raise ValueError(f"X has {rows} rows and y has {len(y)}.")
    count = n_partitions or min(max(1, n_workers(client)), max(1, rows))
    cuts = np.linspace(0, rows, count + 1).astype(int)
    held = []
    for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        held.append(tuple(_slice(value, begin, end) for value in (X, y, sample_weight)))
    return [Source(one, None, None) for one in held]


def _slice(value: Any, begin: int, end: int) -> Any:
    if value is None:
        return None
    if hasattr(value, "iloc"):
        return value.iloc[begin:end]
    if sparse.issparse(value):
        return sparse.csr_matrix(value)[begin:end]
    return np.asarray(value)[begin:end]


# ------------------------------------------------------------------------------------------------ on a worker


@contextmanager
def in_partition(number: int) -> Iterator[None]:
    """Errors name the partition."""
    try:
        yield
    except FileNotFoundError as error:
        # pyarrow's error is the path alone, the system's has it besides its message.
        raise FileNotFoundError(f"Partition {number}: there is no file {error.filename or error}.") from error
    except (ValueError, TypeError) as error:
        raise _in_partition(error, number) from error


def _in_partition(error: ValueError | TypeError, number: int) -> Exception:
    """An error like this one that names the partition; a ``ValueError`` if its type takes more."""
    if isinstance(error, EverlearnError):
        details = {name: getattr(error, name) for name in ("code", "remedy", "parameter", "value")}
        return type(error)(f"Partition {number}: {error.problem}", **details)
    try:
        return type(error)(f"Partition {number}: {error}")
    except TypeError:
        return ValueError(f"Partition {number}: {error}")


def read_part(learner: Any, X: Any, y: Any, weights: Any, number: int) -> parts.Part:
    """Read and validate a partition."""
    with in_partition(number):
        return parts.validate_part(learner, *_read(X, y, weights))


def read_pair(X: Any, y: Any, number: int) -> tuple[Any, Any]:
    """Read rows and labels of a partition, some of which may be missing."""
    with in_partition(number):
        rows, labels, _ = _read(X, y, None)
    if len(getattr(rows, "shape", ())) != 2:
        raise ValueError(f"Partition {number}: rows must be two-dimensional.")
    if len(labels) != rows.shape[0]:
        raise ValueError(f"Partition {number}: {rows.shape[0]} rows, {len(labels)} labels.")
    return rows, labels


def _read(X: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    if isinstance(X, str):
        import pandas  # type: ignore[import-untyped]

        X = pandas.read_parquet(X)
    elif isinstance(X, tuple):
        X, y, weights = X
    names = [name for name in (y, weights) if isinstance(name, str)]
    for name in names:
        if name not in getattr(X, "columns", ()):
            raise ValueError(f"There is no column {name!r}.")
    y, weights = (X[value] if isinstance(value, str) else value for value in (y, weights))
    if hasattr(X, "columns"):
        X = X[[name for name in X.columns if name not in names]]
        _check_numbers(X)
        y = _plain(y)
    return X, y, weights


def _check_numbers(X: Any) -> None:
    """Refuse columns of a frame that have something else than numbers, by their names."""
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        if dtype.kind in "biuf":
            continue
        try:
            np.asarray(X[name], dtype=np.float64)
        except (ValueError, TypeError):
            raise ValueError(
                f"The column {name!r} has no numbers, but values such as {X[name].iloc[0]!r}: encode it as "
                "numbers, or leave it out."
            ) from None


def _plain(y: Any) -> Any:
    """Labels of a frame as an array of one type."""
    values = np.asarray(y)
    return (
        values.astype(str) if values.dtype == object and all(isinstance(v, str) for v in values) else values
    )


def read_rows(X: Any, number: int) -> Any:
    """Read a partition without labels."""
    if isinstance(X, str):
        import pandas

        with in_partition(number):
            X = pandas.read_parquet(X)
    elif isinstance(X, tuple):
        X = X[0]
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(f"Partition {number}: rows must be two-dimensional.")
    return X


def stack_rows(parts: list[Any], order: Any) -> Any:
    """Rows of any kind below each other, in this order."""
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts).iloc[order]
    rows = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
    return rows[order]
