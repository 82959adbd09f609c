"""Kernels: one object each, which knows what everything else asks about it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.extmath import row_norms

from everlearn import _core
from everlearn._base.kernels import KERNELS, NAMES, is_built_in, kernel_named, quoted, users_of
from everlearn._submodular.choice import Similarities

PARAMETERS = [(0.3, 0.0, 3), (0.5, 1.0, 2), (0.2, -1.0, 3), (1.0, 0.5, 1)]


def rows(seed=0):
    """Rows of both signs; one is zero, and two are equal."""
    X = np.random.default_rng(seed).standard_normal((40, 5)) * np.array([1, 2, 0.5, 1, 3])
    X[3], X[7] = 0, X[8]
    return X


@pytest.fixture(params=[(name, *parameters) for name in NAMES for parameters in PARAMETERS], ids=str)
def kernel(request):
    return kernel_named(*request.param)


def test_the_core_has_the_same_kernels():
    assert _core.kernel_names() == NAMES


def test_values_are_those_of_the_core(kernel):
    X = rows()
    for form in (np.asarray, sparse.csr_matrix):
        ours = Similarities(form(X), kernel).times(np.eye(len(X)))
        np.testing.assert_allclose(ours, kernel.values(form(X), form(X)), rtol=1e-12, atol=1e-13)


def test_values_come_from_what_does_not_depend_on_parameters(kernel):
    X, Z = rows(), rows(1)[:7]
    for form in (np.asarray, sparse.csr_matrix):
        measure = type(kernel)().measured(form(X), form(Z))
        np.testing.assert_allclose(kernel.mapped(measure), kernel.values(X, Z), rtol=1e-10, atol=1e-12)


def test_the_diagonal(kernel):
    X = rows()
    own = kernel.diagonal(row_norms(X, squared=True))
    np.testing.assert_allclose(own, kernel.values(X, X).diagonal(), rtol=1e-12)
    assert not kernel.unit_diagonal or (own == 1).all()


def test_the_bounds(kernel):
    for X in (rows(), np.abs(rows(1))):
        values, products = kernel.values(X, X), X @ X.T
        assert kernel.lowest(float(products.min())) <= values.min()
        assert values.max() <= kernel.highest(float(products.max())) * (1 + 1e-12)


def test_definiteness(kernel):
    least = np.linalg.eigvalsh(kernel.values(rows(), rows())).min()
    assert least > -1e-9 * kernel.highest(100.0) or not kernel.definite


def test_some_kernel_is_not_definite():
    assert {name for name in NAMES if not kernel_named(name, coef0=-1.0).definite} == {"poly", "sigmoid"}


def test_what_leaves_values_as_they_are(kernel):
    X, shift, scale = rows(), np.arange(5) - 1.0, 1 + np.random.default_rng(1).random((40, 1))
    values = kernel.values(X, X)
    assert np.allclose(kernel.values(X + shift, X + shift), values) == kernel.shift_invariant
    assert np.allclose(kernel.values(scale * X, scale * X), values) == kernel.scale_invariant


def test_distances(kernel):
    if not kernel.shift_invariant:
        with pytest.raises(NotImplementedError):
            kernel.distances(rows())
        return
    np.testing.assert_allclose(
        np.exp(-kernel.gamma * kernel.distances(rows())), kernel.values(rows(), rows()), atol=1e-12
    )


def test_parameters_that_are_not_used_change_nothing(kernel):
    X = rows()
    others = {
        name: 2 + getattr(kernel, name) for name in ("gamma", "coef0", "degree") if name not in kernel.uses
    }
    same = kernel_named(kernel.name, **({"gamma": 1.0} | kernel.options | others))
    np.testing.assert_array_equal(same.values(X, X), kernel_named(kernel.name, **kernel.options).values(X, X))


def test_names_and_words():
    assert all(is_built_in(name) for name in NAMES)
    assert not any(is_built_in(other) for other in ("precomputed", "auto", len, None))
    assert quoted(["a"]) == '"a"'
    assert quoted(["a", "b", "c"]) == '"a", "b" and "c"'
    assert users_of("degree") == '"poly"'
    assert all(kernel.formula and kernel.name == name for name, kernel in KERNELS.items())
