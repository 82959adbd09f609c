"""The module for CUDA devices in plain NumPy: the twin of what it computes, and arrays in its memory."""

import ctypes
import types

import numpy as np
from scipy import sparse

from reference import working_set


def shifted(rows, shift):
    rows = np.asarray(rows, dtype=np.float64)
    return rows - shift if len(shift) else rows


def solve(rows, shift, **options):
    return working_set.solve(shifted(rows, shift), **options)


def of_csr(values, columns, starts, width):
    return sparse.csr_matrix((values, columns, starts), shape=(len(starts) - 1, width)).toarray()


def solve_sparse(values, columns, starts, width, shift, **options):
    return working_set.solve(shifted(of_csr(values, columns, starts, width), shift), **options)


def summarize(rows, center):
    rows = np.asarray(rows, dtype=np.float64)
    with np.errstate(over="ignore"):
        squares = np.square(rows).sum(axis=1).max()
        return rows.sum(), np.square(rows - center).sum(), squares, bool(np.isfinite(rows).all())


class There:
    """An array in the memory of a device, which is that of the host here."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    @property
    def __cuda_array_interface__(self):
        return self.array.__array_interface__ | {"version": 3}

    def __array_namespace__(self):
        def from_dlpack(found):
            return There(found.array)

        from_dlpack.from_dlpack, from_dlpack.asarray, from_dlpack.__name__ = from_dlpack, np.asarray, "there"
        return from_dlpack

    def __getitem__(self, which):
        return There(self.array[which])

    def __gt__(self, other):
        return self.array > other

    def argmax(self, axis):
        return self.array.argmax(axis)


def array_at(address, rows, columns, kind, owner):
    assert owner.array.ctypes.data == address
    assert (owner.array.shape, owner.array.dtype.str) == ((rows, columns), kind)
    return There(owner.array)


def to_host(address, size):
    return (ctypes.c_char * size).from_address(address).raw


class OutOfDeviceMemory(RuntimeError):
    pass


class NotFinite(ValueError):
    pass


class Scorer:
    """Decision values without the bias, as the module computes them."""

    built = 0

    def __init__(self, vectors, coefficients, kernel, gamma, coef0, degree, shift):
        self.vectors, self.coefficients, self.options = vectors, coefficients, (kernel, gamma, coef0, degree)
        self.shift = shift
        Scorer.built += 1

    def scores(self, rows, bias):
        found = self.of(rows.array if isinstance(rows, There) else rows, bias)
        return There(found) if isinstance(rows, There) else found

    def scores_sparse(self, values, columns, starts, width, bias):
        return self.of(of_csr(values, columns, starts, width), bias)

    def of(self, rows, bias):
        if not np.isfinite(rows).all() or np.abs(rows).max() > 1e30:
            raise NotFinite
        both = shifted(np.vstack([self.vectors, rows.astype(float)]), self.shift)
        K = working_set.kernel_matrix(both, *self.options)
        return (self.coefficients.astype(float) @ K[: len(self.vectors), len(self.vectors) :]).T + bias


TWIN = types.SimpleNamespace(
    solve=lambda rows, **options: solve(getattr(rows, "array", rows), **options),
    solve_sparse=solve_sparse,
    summarize=lambda rows, center: summarize(getattr(rows, "array", rows), center),
    take=lambda rows, numbers: rows.array[numbers].astype(np.float64),
    array_at=array_at,
    to_host=to_host,
    Scorer=Scorer,
    NotFinite=NotFinite,
    DeviceError=RuntimeError,
    OutOfDeviceMemory=OutOfDeviceMemory,
    devices=lambda: [("Twin", 9, 0, 2**30, 227 * 1024)],
    block_memory=114 * 1024,
)
