"""VIRTUAL: published figures, and what must hold of every row that it makes."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import NearestNeighbors

from everlearn import VIRTUAL, datasets, load, save
from everlearn._base.kernels import NAMES
from everlearn.metrics import g_means
from svm.lasvm_helpers import assert_same, refused, snapshot, two_clouds

# Waveform, a class of it thinned out; means of five draws (S. Ertekin's figure 5.2, measured anew): negatives
# for a positive, g-means of active learning alone and of VIRTUAL, rows made, and how many are support vectors
FIGURES = [(4, 0.8529, 0.8813, 389, 123), (8, 0.7817, 0.8167, 239, 93), (32, 0.5764, 0.6293, 71, 38)]


def waveform(n, seed, ratio=None):
    X, y = datasets.make_waveform(n, random_state=seed)
    y = np.where(y == y.min(), 1, -1)
    if ratio is None:
        return X, y
    few = np.random.default_rng(seed).permutation(np.flatnonzero(y == 1))[: np.sum(y == -1) // ratio]
    keep = np.concatenate([np.flatnonzero(y == -1), few])
    return X[keep], y[keep]


def rare(n=400, share=0.1, seed=0):
    X, y = two_clouds(n, 3, apart=1.0, seed=seed)
    few = np.flatnonzero(y == 1)[: int(n * share)]
    keep = np.sort(np.concatenate([np.flatnonzero(y == 0), few]))
    return X[keep], y[keep]


@pytest.mark.parametrize(("ratio", "alone", "virtual", "made", "support"), FIGURES)
def test_figures(ratio, alone, virtual, made, support):
    scores, counts = {0: [], 1: []}, []
    for seed in range(5):
        X, y = waveform(4000, seed, ratio)
        X_test, y_test = waveform(1000, 1000 + seed)
        for n_virtual in scores:
            model = VIRTUAL(1.0, gamma=0.05, n_virtual=n_virtual, random_state=seed).fit(X, y)
            scores[n_virtual].append(g_means(y_test, model.predict(X_test)))
        counts.append((model.n_virtual_, model.n_virtual_support_))
    assert np.mean(scores[0]) == pytest.approx(alone, abs=0.03)
    assert np.mean(scores[1]) == pytest.approx(virtual, abs=0.03)
    assert np.mean(scores[1]) > np.mean(scores[0])
    assert np.mean(counts, axis=0) == pytest.approx((made, support), rel=0.15)


@pytest.mark.parametrize("kernel", [name for name in NAMES if name != "sigmoid"])
@pytest.mark.parametrize("n_virtual", [1, 3])
def test_virtual_rows_lie_between_a_row_and_its_neighbors(kernel, n_virtual):
    X, y = rare()
    options = {"gamma": 0.5, "coef0": 1.0, "degree": 2}
    model = VIRTUAL(
        5.0, kernel=kernel, n_virtual=n_virtual, early_stopping=False, random_state=0, **options
    ).fit(X, y)
    real = X[y == 1]
    K = pairwise_kernels(real, metric=kernel, filter_params=True, **options)
    near = NearestNeighbors(n_neighbors=5, metric="precomputed").fit(
        np.maximum(0, K.diagonal()[:, None] + K.diagonal() - 2 * K)
    )
    ends = near.kneighbors(return_distance=False)
    rows = model.support_vectors_[model.support_ >= len(y)]
    assert len(rows) == model.n_virtual_support_ > 0
    for row in rows:  # |row - a| + |row - b| = |a - b| for some pair
        a, b = real[:, None], real[ends]
        detour = (
            np.linalg.norm(row - a, axis=2) + np.linalg.norm(row - b, axis=2) - np.linalg.norm(a - b, axis=2)
        )
        assert detour.min() < 1e-5
    assert model.n_virtual_ <= n_virtual * len(real)
    assert model.n_iter_ == len(y) + model.n_virtual_
    assert model.n_labels_ == len(y)
    assert model.stop_reason_ == "every row was learned"


def test_without_virtual_rows_it_is_active_learning():
    X, y = rare()
    model = VIRTUAL(5.0, gamma=0.5, n_virtual=0, max_iter=100, random_state=0).fit(X, y)
    assert (model.n_virtual_, model.n_virtual_support_, model.n_labels_, model.n_iter_) == (0, 0, 100, 100)
    assert model.stop_reason_ == "max_iter=100: 100 rows were learned"


def test_it_stops_when_support_vectors_settle():
    X, y = rare(3000)
    model = VIRTUAL(1.0, gamma=0.5, n_iter_no_change=100, rtol=0.05, random_state=0).fit(X, y)
    assert model.n_iter_ < len(y)
    assert "changed by" in model.stop_reason_


def test_the_rare_class_is_the_smaller_one_or_the_one_named():
    X, y = rare()
    assert VIRTUAL(random_state=0).fit(X, y).minority_class_ == 1
    assert VIRTUAL(random_state=0).fit(X, 1 - y).minority_class_ == 0
    assert (
        VIRTUAL(minority_class="no", random_state=0).fit(X, np.where(y == 1, "yes", "no")).minority_class_
        == "no"
    )


@pytest.mark.parametrize("form", [sparse.csr_matrix, lambda X: X.astype(np.float32).astype(np.float64)])
def test_other_forms_of_the_same_rows(form):
    X, y = rare()
    X = np.where(np.abs(X) < 0.5, 0, X).astype(np.float32).astype(np.float64)
    dense = VIRTUAL(5.0, gamma=0.5, random_state=0).fit(X, y)
    other = VIRTUAL(5.0, gamma=0.5, random_state=0).fit(form(X), y)
    np.testing.assert_allclose(other.decision_function(form(X)), dense.decision_function(X), atol=1e-5)


def test_a_callable_kernel_makes_rows_too():
    X, y = rare(200)
    native = VIRTUAL(5.0, kernel="linear", random_state=0).fit(X, y)
    foreign = VIRTUAL(5.0, kernel=lambda A, B: A @ B.T, random_state=0).fit(X, y)
    assert foreign.n_virtual_ == pytest.approx(native.n_virtual_, abs=5)
    assert np.mean(foreign.predict(X) == native.predict(X)) > 0.97


def test_copies_are_the_same(tmp_path):
    X, y = rare()
    model = VIRTUAL(5.0, gamma=0.5, random_state=0).fit(X, y)
    save(model, tmp_path / "model")
    for copy in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_same(copy.decision_function(X), model.decision_function(X))
        for name in ("n_virtual_", "n_virtual_support_", "n_labels_", "stop_reason_", "minority_class_"):
            assert getattr(copy, name) == getattr(model, name)


@pytest.mark.parametrize(
    ("options", "change", "words"),
    [
        ({"minority_class": 7}, lambda X, y: (X, y), "is not a label in y"),
        ({"kernel": "precomputed"}, lambda X, y: (X @ X.T, y), "use a callable kernel"),
        ({"n_neighbors": 0}, lambda X, y: (X, y), "n_neighbors"),
        ({}, lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
    ],
)
def test_bad_input_is_refused(options, change, words):
    X, y = rare(100)
    model = VIRTUAL(random_state=0).fit(X, y)
    model.set_params(**options)
    with refused(model, words):
        model.fit(*change(X, y))


def test_one_row_of_the_rare_class_makes_none():
    X, y = rare(100)
    keep = np.sort(np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1]]))
    model = VIRTUAL(5.0, random_state=0).fit(X[keep], y[keep])
    assert model.n_virtual_ == 0


def test_looking_changes_nothing():
    X, y = rare(100)
    model = VIRTUAL(random_state=0).fit(X, y)
    before = snapshot(model)
    model.predict(X), model.n_virtual_support_, model.support_vectors_
    assert_same(snapshot(model), before)
