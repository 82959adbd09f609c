"""`fit` with ``finishing="all"``: the optimum over all rows, whether they are kept or not."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from everlearn import LASVM, LASVMG, FullSVM, load, save
from everlearn._base import exact
from everlearn._base.exact import RowScores
from everlearn._base.learner import LabeledRows
from everlearn.datasets import make_banana, make_checkerboard, make_twonorm


@pytest.fixture(params=[10**6, 40], ids=["one by one", "in chunks"], autouse=True)
def first_chunk(request, monkeypatch):
    """Every test runs twice: all rows learned one by one, and all but the first ones in chunks."""
    monkeypatch.setattr(exact, "_FIRST_CHUNK", request.param)
    return request.param


def noisy(n=600, seed=0, flipped=0.15):
    """Rows of which many are dropped and needed again."""
    X, y = make_checkerboard(n, random_state=seed)
    flip = np.random.default_rng(seed).random(n) < flipped
    return X, np.where(flip, -y, y)


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def signs(model, y):
    """y of each binary problem, one column each."""
    numbers = [model.classes_[1]] if len(model.classes_) == 2 else model.classes_
    return np.where(np.asarray(y)[:, np.newaxis] == numbers, 1.0, -1.0)


def all_coefficients(model, n):
    alpha = np.zeros((n, len(model.dual_coef_)))
    alpha[model.support_] = model.dual_coef_.T
    return alpha


def violations(model, X, y, C):
    """The largest violation over all pairs of rows, from the definition, for each binary problem."""
    alpha, Y = all_coefficients(model, len(y)), signs(model, y)
    g = Y - (model.decision_function(X).reshape(len(y), -1) - model.intercept_)
    up = np.where(Y > 0, alpha < C, alpha < 0)
    down = np.where(Y > 0, alpha > 0, alpha > -C)
    return np.where(up, g, -np.inf).max(axis=0) - np.where(down, g, np.inf).min(axis=0)


def dual(alpha, y, K):
    return float(alpha @ y - 0.5 * alpha @ K @ alpha)


SETS = {
    "checkerboard": (noisy, 10.0, 8.0),
    "banana": (lambda: make_banana(800, random_state=1), 100.0, 0.5),
    "twonorm": (lambda: make_twonorm(500, random_state=2), 1.0, 0.05),
    "cancer": (lambda: scaled(load_breast_cancer), 10.0, 0.02),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_dual_and_the_decisions_are_those_of_svc(name, seed):
    load, C, gamma = SETS[name]
    X, y = load()
    model = LASVM(C, gamma=gamma, random_state=seed).fit(X, y)
    svc = SVC(C=C, gamma=gamma, tol=1e-6).fit(X, y)
    K, Y = rbf_kernel(X, gamma=gamma), signs(model, y)[:, 0]
    theirs = np.zeros(len(y))
    theirs[svc.support_] = svc.dual_coef_[0]
    best = dual(theirs, Y, K)
    assert dual(all_coefficients(model, len(y))[:, 0], Y, K) == pytest.approx(best, rel=1e-6)
    assert np.mean(model.predict(X) != svc.predict(X)) <= 0.002
    assert np.abs(model.decision_function(X) - svc.decision_function(X)).max() < 0.02


@pytest.mark.parametrize("name", SETS)
def test_no_pair_of_all_rows_violates_by_more_than_tol(name):
    load, C, gamma = SETS[name]
    X, y = load()
    model = LASVM(C, gamma=gamma, random_state=0).fit(X, y)
    assert violations(model, X, y, C).max() <= model.tol * 1.01


def test_a_single_pass_leaves_rows_out_that_the_exact_fit_takes_back():
    X, y = noisy()
    options = {"C": 10.0, "gamma": 8.0, "random_state": 0}
    paper, exact = LASVM(finishing="kept", **options).fit(X, y), LASVM(**options).fit(X, y)
    assert violations(paper, X, y, 10.0).max() > 0.1
    assert paper.n_rounds_ == 0 < exact.n_rounds_
    assert set(exact.support_) - set(paper.support_)
    assert exact.n_iter_ == paper.n_iter_ == len(y)


@pytest.mark.parametrize("load", [load_wine, load_digits])
def test_many_classes_are_exact_one_vs_rest_machines(load):
    X, y = scaled(load)
    X, y = X[:500], y[:500]
    gamma = 0.5 / X.shape[1]
    model = LASVM(5.0, gamma=gamma, random_state=0).fit(X, y)
    rest = OneVsRestClassifier(SVC(C=5.0, gamma=gamma, tol=1e-6)).fit(X, y)
    assert violations(model, X, y, 5.0).max() <= model.tol * 1.01
    assert np.abs(model.decision_function(X) - rest.decision_function(X)).max() < 0.02


@pytest.mark.parametrize("options", [{}, {"max_idle": 0, "clean_every": 10}])
def test_lasvmg_is_the_svm_without_a_bias(options):
    X, y = noisy(400)
    model = LASVMG(10.0, gamma=8.0, tol=1e-4, random_state=0, **options).fit(X, y)
    full = FullSVM(10.0, gamma=8.0, tol=1e-4, random_state=0).fit(X, y)
    K, Y = rbf_kernel(X, gamma=8.0), signs(model, y)[:, 0]
    duals = [dual(all_coefficients(m, len(y))[:, 0], Y, K) for m in (model, full)]
    assert duals[0] == pytest.approx(duals[1], rel=1e-6)
    outside = np.setdiff1d(np.arange(len(y)), model.support_)
    assert (Y * model.decision_function(X))[outside].min() >= 1 - 1.01e-4


def test_the_storage_of_rows_and_the_number_of_threads_do_not_matter():
    X, y = noisy(500, 3)
    X[np.abs(X) < 0.3] = 0
    options = {"C": 10.0, "gamma": 4.0, "random_state": 0}
    dense = LASVM(**options).fit(X, y)
    for model in (LASVM(**options).fit(sparse.csr_matrix(X), y), LASVM(n_jobs=2, **options).fit(X, y)):
        np.testing.assert_array_equal(model.support_, dense.support_)
        np.testing.assert_array_equal(model.dual_coef_, dense.dual_coef_)
        assert model.n_rounds_ == dense.n_rounds_


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "cosine", "precomputed", rbf_kernel])
def test_other_kernels(kernel):
    X, y = noisy(300, 4)
    X = X + 0.5
    rows = rbf_kernel(X) if kernel == "precomputed" else X
    model = LASVM(1.0, kernel=kernel, gamma=1.0, random_state=0).fit(rows, y)
    assert violations(model, rows, y, 1.0).max() <= model.tol * 1.01


def test_weights_of_rows_and_classes():
    X, y = noisy(400, 5)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 3.0], len(y))
    model = LASVM(5.0, gamma=8.0, class_weight={1: 2.0}, random_state=0).fit(X, y, sample_weight=weight)
    used = weight > 0
    svc = SVC(C=5.0, gamma=8.0, class_weight={1: 2.0}, tol=1e-6)
    svc.fit(X[used], y[used], sample_weight=weight[used])
    assert not np.isin(model.support_, np.flatnonzero(~used)).any()
    assert np.abs(model.decision_function(X) - svc.decision_function(X)).max() < 0.02


@pytest.mark.parametrize("selection", ["active", "autoactive", "gradient", "random"])
def test_rows_that_were_not_chosen_take_no_part(selection, monkeypatch):
    X, y = noisy(400, 6)
    checked = []
    first = RowScores.__init__
    monkeypatch.setattr(
        RowScores, "__init__", lambda self, *given: checked.append(given[2]) or first(self, *given)
    )
    options = {"selection": selection, "max_iter": 120, "random_state": 0}
    model = LASVM(5.0, gamma=8.0, **options).fit(X, y)
    rows = checked[0]
    assert len(rows) == len(np.unique(rows)) == model.n_iter_ == 120
    assert np.isin(model.support_, rows).all()
    svc = SVC(C=5.0, gamma=8.0, tol=1e-6).fit(X[rows], y[rows])
    assert np.abs(model.decision_function(X) - svc.decision_function(X)).max() < 0.02


def test_w_has_not_moved_farther_than_the_rows_that_are_not_scored_again_allow(monkeypatch):
    moved_since, moves, K = RowScores._moved_since, [], None

    def noted(scores, group):
        moved = moved_since(scores, group)
        change = scores._near.coefficients - group.coefficients
        moves.append((moved[0], np.sqrt(change[:, 0] @ K @ change[:, 0])))
        return moved

    monkeypatch.setattr(RowScores, "_moved_since", noted)
    for seed in range(10):
        random = np.random.default_rng(seed)
        n, width = random.integers(200, 900), random.integers(1, 4)
        X = random.standard_normal((n, width))
        wrong = random.random(n) < random.choice([0, 0.05, 0.2])
        y = np.where((X[:, 0] + 0.3 * np.sin(3 * X[:, -1]) > 0) ^ wrong, 1, 0)
        gamma, C = 10 ** random.uniform(-1, 1.5), 10 ** random.uniform(-1, 3)
        K = rbf_kernel(X, gamma=gamma)
        LASVM(C, gamma=gamma, random_state=seed).fit(X, y)
    moved, true = np.transpose(moves)
    assert (moved >= true - 1e-3 * (1 + true)).all()
    assert np.isfinite(moved).any()


def test_how_far_w_has_moved_is_unknown_without_a_score_of_every_row_that_moved_it():
    X, y = noisy(400, 6)
    model = LASVM(10.0, gamma=8.0, random_state=0).fit(X, y)
    rows = LabeledRows(X, (y > 0).astype(np.int32), np.full(len(y), 10.0), np.arange(len(y)))
    scores = RowScores(model._machine, rows, np.arange(len(y)), None, False)
    scores.check_all(0.01)
    near, far = scores._near, scores._far[0]

    def moved(row):
        near.coefficients = far.coefficients.copy()
        near.coefficients[row] += 1
        return scores._moved_since(far)

    assert moved(near.places[0]) == 0  # its score is the one it had
    assert moved(far.places[0]) == np.inf  # may be older than the model
    far.known[near.places[0]] = False
    assert moved(near.places[0]) == np.inf


def test_early_stopping_counts_the_rows_learned():
    X, y = make_banana(3000, random_state=0)
    model = LASVM(10, selection="active", early_stopping=True, n_iter_no_change=50, random_state=0).fit(X, y)
    assert model.n_iter_ < 1500
    assert violations(model, X, y, 10.0).max() > model.tol  # rows that were not asked for may violate


@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_that_is_not_definite_comes_to_an_end(seed):
    _, y = noisy(200, seed)
    K = np.random.default_rng(seed).standard_normal((200, 200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LASVM(10.0, kernel="precomputed", random_state=0).fit(K + K.T, y)
    assert np.isfinite(model.decision_function(K)).all()


def test_rows_that_still_violate_after_the_last_round_are_reported(monkeypatch):
    monkeypatch.setattr(exact, "_MAX_ROUNDS", 1)
    X, y = noisy()
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 rounds with \d+ rows that violate"):
        LASVM(10.0, gamma=8.0, random_state=0).fit(X, y)


def test_the_rounds_are_saved(tmp_path):
    X, y = noisy(300, 8)
    model = LASVM(10.0, gamma=8.0, random_state=0).fit(X, y)
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").n_rounds_ == model.n_rounds_ > 0


def test_chunks_double_and_only_the_rows_that_violate_are_learned(monkeypatch, first_chunk):
    X, y = noisy(1000, 5)
    checked = []
    check_all = RowScores.check_all

    def noted(scores, limit):
        before = scores._near.places
        checked.append((len(before), len(found := check_all(scores, limit))))
        return found

    monkeypatch.setattr(RowScores, "check_all", noted)
    model = LASVM(10.0, gamma=8.0, random_state=0).fit(X, y)
    sizes = [size for size, _ in checked]
    if first_chunk < len(y):
        assert sizes[:5] == [
            50,
            100,
            200,
            400,
            200,
        ]  # the first 50 rows, 5 of each class among them, come before
        assert all(found < size for size, found in checked[:5])
    assert 1000 in sizes
    assert model.n_iter_ == 1000


def test_the_rows_nearest_to_the_margin_are_reserved():
    X, y = noisy(800, 6)
    model = LASVM(10.0, gamma=8.0, reserve=50, random_state=0).fit(X, y)
    margins = signs(model, y)[:, 0] * model.decision_function(X)
    outside = np.setdiff1d(np.arange(len(y)), model.support_)
    nearest = outside[np.argsort(margins[outside])[:50]]
    np.testing.assert_array_equal(np.sort(model._machine.native.reserved_ids), np.sort(nearest))


@pytest.mark.parametrize("size", [20, 1000])
def test_a_reserve_that_is_not_full_takes_rows_of_any_margin(size):
    X, y = make_banana(300, random_state=0)
    model = LASVM(10.0, gamma=1.0, reserve=size, random_state=0).fit(X, y)
    reserve = model._machine.native.reserve
    assert len(reserve["ids"]) == min(size, len(y) - len(model.support_))
    assert reserve["ceiling"] == (max(reserve["margins"]) if size == 20 else np.inf)
