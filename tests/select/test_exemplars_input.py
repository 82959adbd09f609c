"""Exemplars: scaling, formats, bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import everlearn
from everlearn import Exemplars
from everlearn._base.kernels import RBF
from everlearn._submodular.geometry import Geometry, resolve_width
from semi.semi_helpers import clouds, rows_and_labels

LINEAR = {"kernel": "linear", "scaling": "none"}


# --- scaling -----------------------------------------------------------------------------------------------


def test_what_auto_means():
    rng = np.random.default_rng(0)
    narrow, wide = 5 + 3 * rng.standard_normal((60, 4)), 5 + rng.standard_normal((60, 50))
    kinds = [(narrow, "rbf"), (wide, "linear"), (sparse.csr_matrix(wide), "linear")]
    for X, kernel in kinds:
        assert Geometry.of(X, Exemplars()).kernel.name == kernel
        first = Exemplars(10).fit(X).indices_.tolist()
        assert Exemplars(10, kernel=kernel).fit(X).indices_.tolist() == first
    for X, scaling in ((narrow, "standard"), (sparse.csr_matrix(wide), "unit")):
        assert (
            Exemplars(10, scaling=scaling).fit(X).indices_.tolist() == Exemplars(10).fit(X).indices_.tolist()
        )
    assert Geometry.of(sparse.csr_matrix(wide), Exemplars(scaling="standard")).mean is None
    few = Exemplars(10).fit(sparse.csr_matrix(narrow))  # of few features it makes no difference
    assert few.indices_.tolist() == Exemplars(10).fit(narrow).indices_.tolist()
    scaled = Geometry.of(narrow, Exemplars()).scaled(narrow)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    for X in (wide, sparse.csr_matrix(wide)):
        geometry = Geometry.of(X, Exemplars())
        np.testing.assert_allclose(geometry.similarities(geometry.scaled(X)).diagonal, 1)
    assert Geometry.of(wide, Exemplars()).mean is not None


def test_the_median_distance():
    X = np.array([[0.0], [1.0], [3.0]])
    assert resolve_width("median", X, RBF) == pytest.approx(1 / (2 * 4))
    assert resolve_width("median", np.zeros((5, 2)), RBF) == resolve_width("median", X[:1], RBF) == 1.0
    Z = np.random.default_rng(0).standard_normal((2000, 4))
    assert resolve_width("median", Z, RBF) == resolve_width("median", Z.copy(), RBF)
    assert resolve_width("median", Z, RBF) == pytest.approx(
        1 / (2 * 2 * 3.357), rel=0.1
    )  # 2 chi² of 4 degrees, its median
    assert resolve_width("auto", Z, RBF) == 1 / 4
    assert resolve_width("scale", Z, RBF) == pytest.approx(1 / (4 * Z.var()))
    assert resolve_width(0.3, Z, RBF) == 0.3


def test_constant_columns_and_rows_of_zeros():
    X = np.c_[np.full(20, 1e9), np.arange(20.0), np.zeros(20)]
    scaled = Geometry.of(X, Exemplars(scaling="standard")).scaled(X)
    np.testing.assert_array_equal(scaled[:, [0, 2]], 0)
    assert len(Exemplars(5).fit(X).indices_) == 5
    for Z in (np.zeros((6, 2)), sparse.csr_matrix((6, 2)), np.ones((6, 60))):
        for method in ("greedy", "qp"):
            found = Exemplars(3, method=method).fit(Z)
            assert found.indices_.tolist() == [0, 1, 2]  # ties: the lowest rows


# --- formats -----------------------------------------------------------------------------------------------


def test_every_format_gives_the_same_answer():
    X, y = rows_and_labels(5, 50)
    expected = Exemplars(10).fit(X, y)
    frame, labels = pd.DataFrame(X, columns=list("abc")), pd.Series(y, dtype="Float64")
    forms = [
        (X.tolist(), [None if np.isnan(label) else label for label in y]),
        (np.asfortranarray(X), y.astype(object)),
        (frame, labels),
        (frame, pd.Series(y)),
        (pl.DataFrame(X, schema=list("abc")), y),
        (X, y[:, np.newaxis].ravel()),
    ]
    for rows, marks in forms:
        found = Exemplars(10).fit(rows, marks)
        assert found.indices_.tolist() == expected.indices_.tolist()
        assert found.kept_.tolist() == expected.kept_.tolist()
    assert list(Exemplars(10).fit(frame).feature_names_in_) == ["a", "b", "c"]
    kinds = [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix]
    found = [Exemplars(10).fit(kind(X), y).indices_.tolist() for kind in kinds]
    assert found[0] == found[1] == found[2]


def test_select_cuts_whatever_belongs_to_the_rows():
    X, y = rows_and_labels(6, 50)
    frame = pd.DataFrame(X, index=np.arange(100, 150))
    found = Exemplars(10).fit(frame, y)
    cut, labels, names = found.select(frame, y, list(range(50)))
    assert cut.index.tolist() == (100 + found.kept_).tolist()
    np.testing.assert_array_equal(labels, y[found.kept_])
    assert names == found.kept_.tolist()
    assert (found.select(sparse.csr_matrix(X)) != sparse.csr_matrix(X[found.kept_])).nnz == 0
    np.testing.assert_array_equal(Exemplars(10).fit_select(X), X[Exemplars(10).fit(X).kept_])
    rows, labels = Exemplars(10).fit_select(X, y, X[:5])
    assert len(rows) == len(labels) == 15
    with pytest.raises(ValueError, match="select needs arrays with the 50 rows of fit, got 49"):
        found.select(X[1:])
    with pytest.raises(NotFittedError):
        Exemplars().select(X)


@pytest.mark.parametrize("method", ["greedy", "qp"])
def test_no_rows_to_choose_from_and_all_of_them(method):
    X, y = clouds(6, 0)
    found = Exemplars(3, method=method).fit(X, y)
    assert found.indices_.tolist() == []
    assert found.kept_.tolist() == list(range(6))
    assert found.objective_ == 0
    assert sorted(Exemplars(9, method=method).fit(X).indices_) == list(range(6))
    assert Exemplars(0, method=method).fit(X).kept_.tolist() == []
    assert Exemplars(2, method=method).fit(X[:1]).kept_.tolist() == [0]


def test_saved_and_loaded(tmp_path):
    X, y = rows_and_labels(7)
    for selector in (Exemplars(), Exemplars(5, method="qp", weights=(1, 2, 3)).fit(X, y)):
        everlearn.save(selector, tmp_path / "few")
        loaded = everlearn.load(tmp_path / "few")
        assert repr(loaded) == repr(selector)
        assert {k: str(v) for k, v in vars(loaded).items()} == {k: str(v) for k, v in vars(selector).items()}


def test_threads_and_progress_change_nothing(capsys):
    X, y = rows_and_labels(8, 300)
    first = Exemplars(40, kernel="rbf").fit(X, y)
    second = Exemplars(40, kernel="rbf", n_jobs=2, verbose=True).fit(X, y)
    assert first.indices_.tolist() == second.indices_.tolist()
    assert first.objective_ == second.objective_
    assert "choosing" in capsys.readouterr().err


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_exemplars": -1}, "'n_exemplars' of Exemplars must be an integer from 0"),
        ({"n_exemplars": 2.5}, "'n_exemplars'"),
        ({"method": "best"}, "'method' of Exemplars must be one of 'greedy', 'qp', got 'best'"),
        ({"kernel": "chi2"}, "'kernel'"),
        ({"gamma": 0}, "'gamma'"),
        ({"degree": -1}, "'degree'"),
        ({"coef0": np.nan}, "'coef0'"),
        ({"scaling": "minmax"}, "'scaling'"),
        ({"weights": (1, 2)}, "'weights' of Exemplars must be None or three or four numbers"),
        ({"weights": (0, 1, 1)}, "'weights'"),
        ({"weights": (1, -1, 1)}, "'weights'"),
        ({"weights": 3}, "'weights'"),
        ({"n_components": 0}, "'n_components'"),
        ({"n_jobs": 0}, "'n_jobs'"),
        ({"verbose": "yes"}, "'verbose'"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ValueError, match=words):
        Exemplars(**params).fit(np.eye(3))


@pytest.mark.parametrize(
    ("params", "X", "y", "words"),
    [
        ({}, [[0.0, np.nan]], None, "NaN"),
        ({}, np.eye(3), [1, None], "inconsistent numbers of samples"),
        ({"kernel": "precomputed"}, np.ones((2, 3)), None, "must be a square matrix"),
        ({"kernel": "precomputed"}, np.array([[1.0, 2.0], [0.0, 1.0]]), None, "must be symmetric"),
        (
            {"kernel": "precomputed", "method": "qp"},
            [[0.0, 1.0], [1.0, 0.0]],
            None,
            "not positive semi-definite",
        ),
        ({"kernel": "linear", "scaling": "none"}, 1e200 * np.eye(3), None, "overflow"),
        ({"kernel": "rbf"}, 1e200 * np.eye(3), None, "overflow"),
        ({"kernel": "rbf", "method": "qp"}, np.zeros((5001, 1)), None, "at most 5000 unlabeled rows"),
    ],
)
def test_bad_rows(params, X, y, words):
    chooser = Exemplars(1, **params)
    with pytest.raises(ValueError, match=words):
        chooser.fit(X, y)
    assert not hasattr(chooser, "indices_")


def test_a_fit_that_fails_leaves_what_was():
    X, y = rows_and_labels(9)
    chooser = Exemplars(4).fit(X, y)
    before = dict(vars(chooser))
    with pytest.raises(ValueError, match="features"):
        chooser.fit(X, y, np.eye(2))
    assert vars(chooser) == before
    assert clone(chooser).get_params() == chooser.get_params()
