"""Data sets from EVERLEARN_DATA: scaling, and those of the LASVM table with their C and gamma."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

SEED = 0
COVTYPE_POOL, COVTYPE_TEST = 100_000, 50_000  # in the order of the rows, test rows follow the first 100,000
COVTYPE_ALL = 531_012  # all other rows


@dataclass(frozen=True)
class Task:
    """One line of the table: float32 rows (dense or CSR), labels -1/+1 or 0..9, and the parameters."""

    name: str
    title: str
    C: float
    gamma: float
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def multiclass(self) -> bool:
        return len(np.unique(self.y_train)) > 2

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.X_train)

    def describe(self) -> dict[str, Any]:
        n, d = self.X_train.shape
        return {
            "set": self.name,
            "title": self.title,
            "C": self.C,
            "gamma": self.gamma,
            "rows": n,
            "features": d,
            "test_rows": self.X_test.shape[0],
            "classes": len(np.unique(self.y_train)),
            "sparse": self.sparse,
        }

    def head(self, rows: int | None) -> Task:
        """Keep at most `rows` training and test rows, drawn at random but always the same."""
        if rows is None:
            return self
        rng = np.random.default_rng(SEED)
        train = np.sort(rng.permutation(self.X_train.shape[0])[:rows])
        test = np.sort(rng.permutation(self.X_test.shape[0])[:rows])
        return replace(
            self,
            X_train=self.X_train[train],
            y_train=self.y_train[train],
            X_test=self.X_test[test],
            y_test=self.y_test[test],
        )

    def save(self, folder: Path) -> None:
        """Write the arrays where a worker process finds them."""
        folder.mkdir(parents=True, exist_ok=True)
        fields = {key: getattr(self, key) for key in ("name", "title", "C", "gamma")}
        (folder / "task.json").write_text(json.dumps(fields))
        for part in ("X_train", "X_test"):
            value = getattr(self, part)
            if sp.issparse(value):
                sp.save_npz(folder / f"{part}.npz", value, compressed=False)
            else:
                np.save(folder / f"{part}.npy", value)
        for part in ("y_train", "y_test"):
            np.save(folder / f"{part}.npy", getattr(self, part))

    @classmethod
    def load(cls, folder: Path) -> Task:
        arrays: dict[str, Any] = {}
        for part in ("X_train", "X_test", "y_train", "y_test"):
            dense = folder / f"{part}.npy"
            arrays[part] = np.load(dense) if dense.exists() else sp.load_npz(folder / f"{part}.npz")
        return cls(**json.loads((folder / "task.json").read_text()), **arrays)


def contiguous(X: Any) -> Any:
    """float32, C-contiguous or CSR with sorted int32 indices: what every peer is handed."""
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=np.float32)
        X.sort_indices()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X
    return np.ascontiguousarray(X, dtype=np.float32)


def one_vs_rest(y: Any, positive: Any) -> np.ndarray:
    """1 for the positive class, -1 for all others."""
    return np.where(np.asarray(y) == positive, 1, -1)


@lru_cache(maxsize=2)
def load(name: str) -> Any:
    """A data set of EVERLEARN_DATA; the last two are kept."""
    from everlearn.datasets import load as read

    return read(name)


def dense(X: Any) -> np.ndarray:
    """A contiguous float64 array, of sparse rows as well."""
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def standardized(train: Any, *others: Any) -> tuple[np.ndarray, ...]:
    """Mean 0 and standard deviation 1 on the rows of `train`; constant columns are only shifted."""
    rows = np.asarray(train, np.float64)
    mean, width = rows.mean(axis=0), rows.std(axis=0)
    width[width == 0] = 1
    return tuple(np.ascontiguousarray((np.asarray(X, np.float64) - mean) / width) for X in (train, *others))


def unit_rows(X: Any) -> np.ndarray:
    """Each row divided by its Euclidean length."""
    rows = np.asarray(X, np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _usps() -> tuple[Any, ...]:
    d = load("usps")
    return contiguous(d.X_train), one_vs_rest(d.y_train, 0), contiguous(d.X_test), one_vs_rest(d.y_test, 0)


def _letters() -> tuple[Any, ...]:
    d = load("letter")
    train, test = standardized(d.X_train, d.X_test)
    return contiguous(train), np.asarray(d.y_train), contiguous(test), np.asarray(d.y_test)


def _letter() -> tuple[Any, ...]:
    train, y, test, y_test = _letters()
    return train, one_vs_rest(y, 0), test, one_vs_rest(y_test, 0)


def as_given(name: str) -> tuple[Any, ...]:
    """The rows of a set as stored, class 1 against the others."""
    d = load(name)
    return contiguous(d.X_train), one_vs_rest(d.y_train, 1), contiguous(d.X_test), one_vs_rest(d.y_test, 1)


def _a9a() -> tuple[Any, ...]:
    train, y, test, y_test = as_given("a9a")
    return contiguous(dense(train)), y, contiguous(dense(test)), y_test


def _mnist(rows: int | None = None) -> tuple[Any, ...]:
    d = load("mnist")
    scale = np.float32(1 / 255)
    train, test = contiguous(d.X_train[:rows]) * scale, contiguous(d.X_test) * scale
    return train, np.asarray(d.y_train[:rows]).astype(np.int64), test, np.asarray(d.y_test).astype(np.int64)


def _mnist8() -> tuple[Any, ...]:
    train, y, test, y_test = _mnist()
    return train, one_vs_rest(y, 8), test, one_vs_rest(y_test, 8)


def covtype_rows(rows: int) -> tuple[Any, ...]:
    """`rows` random training rows of covtype (class 2 against the rest), scaled by the range of all rows."""
    d = load("covtype")
    order = np.random.default_rng(SEED).permutation(d.X.shape[0])
    held_out = slice(COVTYPE_POOL, COVTYPE_POOL + COVTYPE_TEST)
    train, test = np.delete(order, held_out)[:rows], order[held_out]
    low = d.X.min(axis=0).astype(np.float32)
    width = d.X.max(axis=0).astype(np.float32) - low
    width[width == 0] = 1
    y = one_vs_rest(d.y, 2)
    return (
        contiguous((d.X[train].astype(np.float32) - low) / width),
        y[train],
        contiguous((d.X[test].astype(np.float32) - low) / width),
        y[test],
    )


def _banana() -> tuple[Any, ...]:
    d = load("banana")
    X, y = contiguous(d.X), one_vs_rest(d.y, 1)
    return X[:4000], y[:4000], X[4000:5300], y[4000:5300]


@dataclass(frozen=True)
class Spec:
    """A data set by name: its title in the table, its parameters and how its arrays are made."""

    title: str
    C: float
    gamma: float
    build: Callable[[], tuple[Any, ...]]


SETS: dict[str, Spec] = {
    "usps": Spec("usps 0", 10, 0.01, _usps),
    "letter": Spec("letter A", 10, 0.1, _letter),
    "a9a": Spec("a9a", 100, 0.005, _a9a),
    "ijcnn1": Spec("ijcnn1", 32, 1, lambda: as_given("ijcnn1")),
    "mnist8": Spec("mnist 8", 100, 0.02, _mnist8),
    "covtype": Spec("covtype 2", 3, 8, lambda: covtype_rows(50_000)),
    "banana": Spec("banana", 316, 0.5, _banana),
    "reuters": Spec("money-fx", 1, 1, lambda: as_given("reuters_lasvm_moneyfx")),
    "mnist10": Spec("mnist 0-9", 10, 0.02, lambda: _mnist(10_000)),
    "letter26": Spec("letter A-Z", 10, 0.1, _letters),
    "ijcnn1_hard": Spec("ijcnn1, hard", 10_000, 0.01, lambda: as_given("ijcnn1")),
    "mnist10_all": Spec("mnist 0-9, all", 10, 0.02, _mnist),
}


def load_task(name: str, rows: int | None = None) -> Task:
    """Read and scale one data set; `rows` cuts it down for a trial run."""
    spec = SETS[name]
    return Task(name, spec.title, spec.C, spec.gamma, *spec.build()).head(rows)


def covtype_task(rows: int) -> Task:
    """Covtype with another number of training rows, for the growth of cost."""
    spec = SETS["covtype"]
    return Task("covtype", f"covtype {rows}", spec.C, spec.gamma, *covtype_rows(rows))
