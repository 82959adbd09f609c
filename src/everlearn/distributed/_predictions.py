"""Scores and predictions of rows of any kind by a fitted model; those of Dask collections on the workers."""

from typing import Any

import numpy as np

from ._partitions import is_dask, is_paths


def scores(model: Any, X: Any) -> Any:
    """Decision values."""
    return _apply(model, "decision_function", X, np.dtype(np.float64), len(model.classes_))


def predictions(model: Any, X: Any) -> Any:
    """Predicted labels."""
    return _apply(model, "predict", X, model.classes_.dtype, 2)


def _apply(model: Any, method: str, X: Any, dtype: Any, columns: int) -> Any:
    if is_paths(X):
        raise TypeError(
            f"{method} takes rows, got the name of a file: read it with dask.dataframe.read_parquet, and "
            "leave out the label."
        )
    if not is_dask(X):
        return getattr(model, method)(X)
    import dask.array as da
    from dask import delayed

    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * X.npartitions
    shared, blocks = delayed(model, pure=False), []
    for block, length in zip(np.ravel(X.to_delayed()), lengths, strict=True):
        value = delayed(_score)(method, shared, block)
        shape = (length,) if columns == 2 else (length, columns)
        blocks.append(da.from_delayed(value, shape=shape, dtype=dtype))
    return da.concatenate(blocks)


# ------------------------------------------------------------------------------------------------ on a worker


def _score(method: str, model: Any, block: Any) -> Any:
    if len(block) == 0:
        many = method == "decision_function" and len(model.classes_) > 2
        return np.zeros((0, len(model.classes_)) if many else 0)
    return getattr(model, method)(block)
