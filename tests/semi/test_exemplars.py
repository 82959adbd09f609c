"""Exemplars: the figures, the plain version, what the weights mean, the next batch, formats, bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import everlearn
from everlearn import Exemplars
from everlearn._choice import Choice, Similarities
from everlearn._geometry import Geometry, least_similarity, width
from everlearn.select._convex import project
from everlearn.select.exemplars import default_weights
from reference.exemplars import Weights, choice_of_exemplars, exemplars
from reference.exemplars import default_weights as plain_weights
from reference.qp_s3vm import ascend as plain_ascend
from reference.qp_s3vm import project as plain_project
from semi.semi_helpers import clouds, digits, gram, matrices, property_test, quarters

LINEAR = {"kernel": "linear", "scaling": "none"}


def partly(y, rows):
    """Labels of some rows, NaN for the others."""
    return np.where(np.isin(np.arange(len(y)), rows), y, np.nan)


# --- figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("M", "greedy", "bound", "rounded"),
    [(20, 5612.630187, 5612.630265, 5612.630187), (36, 9533.024428, 9533.123725, 9533.073742)],
)
def test_digits(M, greedy, bound, rounded, convert):
    X, y = digits()
    y, X = partly(y, [0, 1, 2, 3]), convert(X)
    taken = Exemplars(M, weights=(1, 1, 1), **LINEAR).fit(X, y)
    assert taken.indices_[:6].tolist() == [268, 189, 67, 60, 35, 54]
    assert taken.objective_ == pytest.approx(greedy, abs=1e-4)
    assert taken.bound_ is None
    if M == 36:
        assert taken.n_evaluations_ == pytest.approx(1548, rel=0.02)
    convex = Exemplars(M, method="qp", weights=(1, 1, 1), **LINEAR).fit(X, y)
    assert convex.bound_ == pytest.approx(bound, abs=1e-3)
    assert convex.objective_ == pytest.approx(rounded, abs=1e-3)
    assert convex.bound_ >= max(taken.objective_, convex.objective_)


# --- the plain version -------------------------------------------------------------------------------------


def rows_and_labels(seed, n=40, labelled=5):
    X, y = clouds(n, seed, features=3)
    return X, partly(y, np.random.default_rng(seed).permutation(n)[:labelled])


def blocks(K, y):
    """K between unlabelled rows, and from labelled to unlabelled ones."""
    U, L = np.flatnonzero(np.isnan(y)), np.flatnonzero(~np.isnan(y))
    return U, K[np.ix_(U, U)], K[np.ix_(L, U)]


@property_test(60)
@given(
    st.integers(0, 10**6), st.integers(0, 20), st.integers(0, 6), st.sampled_from(["linear", "rbf", "poly"])
)
def test_greedy_is_that_of_the_plain_version(seed, M, labelled, kernel):
    """Of all rows but two, those two tie if λ2 = 0 and M = n: so not as many."""
    X, y = rows_and_labels(seed, 30, labelled)
    K = {"linear": gram(X), "rbf": rbf_kernel(X, gamma=0.3), "poly": polynomial_kernel(X, X, 3, 0.3, 0.5)}
    found = Exemplars(M, kernel=kernel, gamma=0.3, coef0=0.5, scaling="none").fit(X, y)
    U, K_UU, K_LU = blocks(K[kernel], y)
    assert found.indices_.tolist() == U[exemplars(K_UU, K_LU, M)].tolist()
    choice, _ = choice_of_exemplars(K_UU, K_LU, plain_weights(min(M, len(U)), len(U)))
    assert found.objective_ == pytest.approx(choice.value(np.searchsorted(U, found.indices_)), abs=1e-7)
    assert found.kept_.tolist() == sorted([*np.flatnonzero(~np.isnan(y)), *found.indices_])
    stored = Exemplars(M, kernel="precomputed").fit(K[kernel], y)
    assert stored.indices_.tolist() == found.indices_.tolist()


@property_test(30)
@given(st.integers(0, 10**6), st.integers(1, 20))
def test_the_next_batch_counts_as_in_the_plain_version(seed, M):
    X, y = rows_and_labels(seed, 30)
    N = clouds(12, seed + 1, features=3)[0]
    found = Exemplars(M, kernel="rbf", gamma=0.3, scaling="none").fit(X, y, N)
    U, K_UU, K_LU = blocks(rbf_kernel(X, gamma=0.3), y)
    assert (
        found.indices_.tolist() == U[exemplars(K_UU, K_LU, M, K_NU=rbf_kernel(N, X[U], gamma=0.3))].tolist()
    )
    stored = Exemplars(M, kernel="precomputed").fit(rbf_kernel(X, gamma=0.3), y, rbf_kernel(N, X, gamma=0.3))
    assert stored.indices_.tolist() == found.indices_.tolist()


@property_test(40)
@given(matrices(2, 8, psd=True), st.data())
def test_the_convex_form_bounds_every_choice_and_is_solved(K, data):
    n, M = len(K), data.draw(st.integers(0, len(K)))
    found = Exemplars(M, method="qp", kernel="precomputed").fit(K)
    choice, _ = choice_of_exemplars(K, K[:0], plain_weights(M, n))
    assert found.bound_ >= choice.value(choice.best(M)) - 1e-9
    assert found.objective_ <= found.bound_ + 1e-9
    assert found.objective_ == pytest.approx(choice.value(found.indices_), abs=1e-9)
    _, value, room = plain_ascend(choice, M, tol=1e-9)
    assert value - 1e-7 * (1 + abs(value)) <= found.bound_ <= value + room + 1e-6 * (1 + abs(value))


def test_the_convex_form_with_kernels_on_rows():
    X, y = rows_and_labels(3, 60)
    U, K_UU, K_LU = blocks(rbf_kernel(X, gamma=0.3), y)
    found = Exemplars(15, method="qp", kernel="rbf", gamma=0.3, scaling="none").fit(X, y)
    choice, _ = choice_of_exemplars(K_UU, K_LU, plain_weights(15, len(U)))
    _, value, room = plain_ascend(choice, 15)
    assert found.bound_ == pytest.approx(value + room, rel=1e-6)
    rounded = choice.value(exemplars(K_UU, K_LU, 15, by="qp"))
    greedy = choice.value(exemplars(K_UU, K_LU, 15))
    assert found.objective_ == pytest.approx(max(rounded, greedy), rel=1e-9)
    assert found.n_evaluations_ > len(U)


def test_equal_fractions_do_not_choose():
    """Herding: the mean itself, all fractions the same, solves the convex form, and rounds to any rows."""
    X, _ = make_moons(100, noise=0.1, random_state=0)
    options = {"kernel": "rbf", "gamma": 5.0, "weights": (1, 0, 2 * 10 / 100)}
    by_qp, by_greedy = (Exemplars(10, method=method, **options).fit(X) for method in ("qp", "greedy"))
    assert by_qp.objective_ >= by_greedy.objective_
    assert by_qp.bound_ == pytest.approx(
        (10 / 100) ** 2
        * Geometry.of(X, by_qp).similarities(Geometry.of(X, by_qp).scaled(X)).times(np.ones(100)).sum()
    )


@property_test(100)
@given(quarters(6, -12, 12), st.integers(0, 6))
def test_projection(v, k):
    np.testing.assert_allclose(project(v, k), plain_project(v, k), atol=1e-12)
    assert project(v, k).sum() == pytest.approx(k, abs=1e-9)


@pytest.mark.parametrize("sizes", [(10, 100, 0), (80, 100, 0), (80, 100, 50), (0, 0, 0), (3, 0, 4)])
def test_default_weights(sizes):
    assert default_weights(*sizes) == plain_weights(*sizes)


# --- bounds on similarities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize(
    ("degree", "coef0", "shift"), [(3, 0.5, 0.0), (2, -1.0, 0.0), (3, -2.0, 4.0), (1, 0, 9)]
)
def test_no_similarity_is_below_the_bound(kernel, degree, coef0, shift, convert, monkeypatch):
    X = np.random.default_rng(0).standard_normal((80, 3)) + shift
    K = Similarities(convert(X), kernel, gamma=0.2, coef0=coef0, degree=degree)
    values = K.block(np.arange(80), np.arange(80))
    least = values[~np.eye(80, dtype=bool)].min()
    assert least_similarity(K) == pytest.approx(least, abs=1e-9 * np.abs(values).max())
    monkeypatch.setattr("everlearn._geometry._EXACT_ROWS", 0)
    assert least_similarity(K) <= least


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
def test_a_loose_bound_gives_the_same_rows(kernel, monkeypatch):
    X, y = rows_and_labels(0, 200)
    tight = Exemplars(60, kernel=kernel, coef0=-0.5).fit(X, y)
    monkeypatch.setattr("everlearn._geometry._EXACT_ROWS", 0)
    loose = Exemplars(60, kernel=kernel, coef0=-0.5).fit(X, y)
    assert loose.indices_.tolist() == tight.indices_.tolist()
    assert loose.n_evaluations_ >= tight.n_evaluations_
    K = Geometry.of(X, tight)
    rows = K.scaled(X)[np.isnan(y)]
    plain = Choice(K.similarities(rows), tight._choice(X, *sides(y), None).w, -1.0, 1e6).greedy(60)
    assert np.flatnonzero(np.isnan(y))[plain.order].tolist() == tight.indices_.tolist()


def sides(y):
    return np.flatnonzero(np.isnan(y)), np.flatnonzero(~np.isnan(y))


# --- what they mean ----------------------------------------------------------------------------------------


def test_herding_brings_means_together():
    """λ2 = 0 and λ3 = 2M/n: F is a constant minus M² times the discrepancy to all rows."""
    X, _ = make_moons(300, noise=0.1, random_state=0)
    K = rbf_kernel(X, gamma=5.0)

    def apart(rows):
        e = np.isin(np.arange(300), rows) / len(rows) - 1 / 300
        return e @ K @ e

    found = Exemplars(30, kernel="rbf", gamma=5.0, scaling="none", weights=(1, 0, 60 / 300)).fit(X)
    assert apart(found.indices_) == pytest.approx(K.mean() - found.objective_ / 30**2, abs=1e-9)
    drawn = [apart(np.random.default_rng(seed).permutation(300)[:30]) for seed in range(20)]
    assert apart(found.indices_) < min(drawn) / 5


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0])
def test_exemplars_lie_where_the_next_batch_is(gamma):
    """60 rows and a label in one place, 4 rows in another, where the next batch is dense."""
    rng = np.random.default_rng(0)
    X = (
        np.r_[0.0, np.zeros(60), np.full(4, 5.0)][:, None]
        + 0.3 * np.r_[[[0.0]], rng.standard_normal((64, 1))]
    )
    N = 5 + 0.3 * rng.standard_normal((40, 1))
    y = [1.0] + [None] * 64
    rule = Exemplars(6, kernel="rbf", gamma=gamma, scaling="none")
    assert np.count_nonzero(rule.fit(X, y).indices_ > 60) <= 1
    assert np.count_nonzero(rule.fit(X, y, N).indices_ > 60) >= 2
    assert rule.weights_ == default_weights(6, 64, 40)
    assert np.count_nonzero(rule.fit(X, y, N[:0]).indices_ > 60) <= 1


def test_the_first_are_the_answer_for_fewer():
    X, y = rows_and_labels(1, 100)
    many = Exemplars(50, weights=(1, 1, 1)).fit(X, y).indices_
    for k in (0, 1, 20):
        assert Exemplars(k, weights=(1, 1, 1)).fit(X, y).indices_.tolist() == many[:k].tolist()


@property_test(30)
@given(st.integers(0, 10**6))
def test_permuted_rows_permute_the_choice(seed):
    X, y = rows_and_labels(seed, 40)
    order = np.random.default_rng(seed).permutation(40)
    first, other = Exemplars(8, gamma=0.4).fit(X, y), Exemplars(8, gamma=0.4).fit(X[order], y[order])
    assert order[other.indices_].tolist() == first.indices_.tolist()


def test_which_label_it_is_makes_no_difference():
    X, y = rows_and_labels(2)
    words = np.where(np.isnan(y), None, "a")
    assert Exemplars(9).fit(X, y).kept_.tolist() == Exemplars(9).fit(X, words).kept_.tolist()


def test_landmarks():
    X, y = rows_and_labels(4, 80)
    exact = Exemplars(12, kernel="rbf").fit(X, y)
    for m in (80, 200):  # all rows are landmarks: the kernel itself
        near = Exemplars(12, kernel="rbf", n_components=m).fit(X, y)
        assert near.indices_.tolist() == exact.indices_.tolist()
        assert near.objective_ == pytest.approx(exact.objective_, rel=1e-8)
    rough = Exemplars(12, kernel="rbf", n_components=20).fit(X, y, X[:30])
    assert rough.indices_.shape == (12,)
    U, K_UU, K_LU = blocks(rbf_kernel(Geometry.of(X, exact).scaled(X), gamma=Geometry.of(X, exact).gamma), y)
    choice, _ = choice_of_exemplars(K_UU, K_LU, Weights(*exact.weights_))
    rows = np.searchsorted(U, Exemplars(12, kernel="rbf", n_components=20).fit(X, y).indices_)
    assert choice.value(rows) > 0.98 * exact.objective_


# --- scaling -----------------------------------------------------------------------------------------------


def test_what_auto_means():
    rng = np.random.default_rng(0)
    narrow, wide = 5 + 3 * rng.standard_normal((60, 4)), 5 + rng.standard_normal((60, 50))
    kinds = [(narrow, "rbf"), (wide, "linear"), (sparse.csr_matrix(wide), "linear")]
    for X, kernel in kinds:
        assert Geometry.of(X, Exemplars()).kernel == kernel
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
    assert width("median", X) == pytest.approx(1 / (2 * 4))
    assert width("median", np.zeros((5, 2))) == width("median", X[:1]) == 1.0
    Z = np.random.default_rng(0).standard_normal((2000, 4))
    assert width("median", Z) == width("median", Z.copy())
    assert width("median", Z) == pytest.approx(
        1 / (2 * 2 * 3.357), rel=0.1
    )  # 2 chi² of 4 degrees, its median
    assert width("auto", Z) == 1 / 4
    assert width("scale", Z) == pytest.approx(1 / (4 * Z.var()))
    assert width(0.3, Z) == 0.3


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
    with pytest.raises(ValueError, match="belongs to the 50 rows of fit, got 49 rows"):
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
        ({"kernel": "cosine"}, "'kernel'"),
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
        ({"kernel": "rbf", "method": "qp"}, np.zeros((5001, 1)), None, "takes 5000 at most"),
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
