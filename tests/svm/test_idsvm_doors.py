"""The exact SVM through other doors: other machines, formats, kernels and classes; and after a long time."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from everlearn import IDSVM, LASVM
from svm.idsvm_native_helpers import KERNELS, Compiled, gram, learned, same_as_svc
from svm.lasvm_helpers import assert_same, three_clouds, two_clouds

JITTERS = (1e-9, 1e-7, 1e-5, 1e-3)
PRECOMPUTED = {"kernel": "precomputed"}


def scores(model, X):
    return model.decision_function(X)


def close(a, b, within):
    np.testing.assert_allclose(a, b, rtol=0, atol=within)


# --- from other machines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}, {"C": 100.0, "gamma": 1.0}])
@pytest.mark.parametrize("start", ["svc", "lasvm", "rough", "poor"])
def test_from_another_machine_it_is_what_fit_finds(start, options):
    X, y = two_clouds(150, 3)
    weights = np.random.default_rng(1).uniform(0.5, 2, 150)
    other = {"svc": SVC(**options), "lasvm": LASVM(**options), "rough": SVC(tol=0.5, **options)}.get(
        start, SVC(max_iter=3, **options)
    )
    with pytest.warns() if start == "poor" else nullcontext():
        other.fit(X, y, sample_weight=weights)
    model = IDSVM.from_svm(other, X, y, sample_weight=weights, ids=np.arange(150) + 7)
    fitted = IDSVM(**options).fit(X, y, sample_weight=weights)
    close(scores(model, X), scores(fitted, X), 1e-7)
    assert model.objective_ == pytest.approx(fitted.objective_, rel=1e-9)
    assert model.residual_ < 1e-8
    np.testing.assert_array_equal(model.ids_, np.arange(150) + 7)
    model.forget(np.arange(40) + 7)
    options = options | {"gamma": model._machine.spec["gamma"]}  # of all rows
    rest = IDSVM(**options).fit(X[40:], y[40:], sample_weight=weights[40:])
    close(scores(model, X), scores(rest, X), 1e-7)


def test_from_a_machine_for_three_classes():
    X, y = three_clouds(150)
    model = IDSVM.from_svm(LASVM(C=3).fit(X, y), X, y)
    fitted = IDSVM(C=3).fit(X, y)
    close(scores(model, X), scores(fitted, X), 1e-7)
    with pytest.raises(ValueError, match="only two"):
        IDSVM.from_svm(SVC().fit(X, y), X, y)


def test_from_a_machine_that_was_fed_in_blocks():
    """Its gamma is that of its first block; its coefficients are a solution with no other."""
    X, y = two_clouds(100, 2)
    X[50:] *= 5
    other = LASVM().partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(X[50:], y[50:]).finish()
    gamma = other._machine.spec["gamma"]
    model = IDSVM.from_svm(other, X, y)
    assert model._machine.spec["gamma"] == gamma
    close(scores(model, X), scores(IDSVM(gamma=gamma).fit(X, y), X), 1e-7)


def test_from_a_machine_on_other_rows_is_refused():
    X, y = two_clouds(60)
    svc = SVC().fit(X, y)
    with pytest.raises(ValueError, match="all of them"):
        IDSVM.from_svm(svc, X[:30], y[:30])
    with pytest.raises(ValueError, match="classes"):
        IDSVM.from_svm(svc, X, y + 1)


# --- several classes, formats, kernels ----------------------------------------------------------------------


def test_several_classes_are_as_many_machines():
    X, y = three_clouds(150)
    model = IDSVM(C=5).partial_fit(X[:100], y[:100], classes=["ash", "oak", "yew"])
    gamma = model._machine.spec["gamma"]
    singles = [IDSVM(C=5, gamma=gamma) for _ in range(3)]
    names = np.array(["ash", "oak", "yew"])
    for name, single in zip(names, singles, strict=True):
        single.partial_fit(X[:100], np.where(y[:100] == name, 1, -1), classes=[-1, 1])

    def agree():
        f = scores(model, X)
        for c, single in enumerate(singles):
            close(f[:, c], scores(single, X), 1e-10)
            assert model.objective_[c] == pytest.approx(single.objective_[0], rel=1e-10)
            assert model.n_margin_[c] == single.n_margin_[0]
            assert model.intercept_[c] == pytest.approx(single.intercept_[0], abs=1e-10)
        np.testing.assert_array_equal(model.predict(X), names[f.argmax(axis=1)])

    agree()
    for i in range(100, 150):
        model.partial_fit(X[[i]], y[[i]]).forget(i - 100)
        for name, single in zip(names, singles, strict=True):
            single.partial_fit(X[[i]], [1 if y[i] == name else -1]).forget(i - 100)
    agree()
    y = y.copy()
    for i in range(50, 150, 7):
        y[i] = names[(np.flatnonzero(names == y[i])[0] + 1 + i % 2) % 3]
        model.relabel(i, y[i])
        for name, single in zip(names, singles, strict=True):
            single.relabel(i, 1 if y[i] == name else -1)
    agree()
    out = model.leave_one_out()
    np.testing.assert_array_equal(out.labels, y[50:])
    np.testing.assert_array_equal(out.predictions, names[out.scores.argmax(axis=1)])
    for c, single in enumerate(singles):
        close(out.scores[:, c], single.leave_one_out().scores, 1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("width", [4, 130])
def test_dense_sparse_and_single_precision_rows_give_the_same_bits(kernel, width):
    """Kernel values are those of the rows as doubles: rows that come as floats lose nothing on the way."""
    rng = np.random.default_rng(2)
    X = (rng.standard_normal((90, width)) * (rng.random((90, width)) < 0.4) / np.sqrt(width)).astype(
        np.float32
    )
    y = np.where(X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(90) > 0, 1, -1)

    def lived(rows):
        model = IDSVM(C=5.0, **KERNELS[kernel]).partial_fit(rows[:60], y[:60], classes=[-1, 1])
        model.forget([3, 50, 7]).partial_fit(rows[60:], y[60:]).relabel([10, 11], -y[[10, 11]])
        return model

    wanted = lived(X.astype(np.float64))
    for rows in (X, sparse.csr_matrix(X), sparse.csr_array(X.astype(np.float64)), sparse.csc_array(X)):
        model = lived(rows)
        assert_same(scores(model, rows), scores(wanted, X.astype(np.float64)))
        assert_same(model.dual_coef_, wanted.dual_coef_)
        assert sparse.issparse(model.support_vectors_) == sparse.issparse(rows)


def test_rows_far_from_the_origin():
    X, y = two_clouds(80, 3)
    for options in ({"gamma": 0.3}, {"kernel": "linear"}):
        near = IDSVM(**options).partial_fit(X, y, classes=[0, 1]).forget([0, 1])
        far = IDSVM(**options).partial_fit(X + 1e6, y, classes=[0, 1]).forget([0, 1])
        close(scores(far, X + 1e6), scores(near, X), 1e-6)
        np.testing.assert_allclose(far.support_vectors_, (X + 1e6)[far.support_])


@pytest.mark.parametrize("kernel", KERNELS)
def test_precomputed_and_callable_kernels_equal_native_ones(kernel):
    X, y = two_clouds(150, 3)
    X, options = X / 3, KERNELS[kernel]
    K = gram(options, X, X)
    native = IDSVM(C=5.0, **options)
    matrix = IDSVM(C=5.0, kernel="precomputed")
    own = IDSVM(C=5.0, kernel=lambda a, b: gram(options, a, b))

    def everywhere(work):
        for model, rows in ((native, X), (matrix, K), (own, X)):
            work(model, rows)
        close(scores(matrix, K), scores(native, X), 1e-7)
        close(scores(own, X), scores(native, X), 1e-7)
        assert matrix.objective_ == pytest.approx(native.objective_, rel=1e-8)

    everywhere(lambda model, rows: model.partial_fit(rows[:100], y[:100], classes=[0, 1]))
    everywhere(lambda model, _: model.forget(np.arange(0, 90, 3)))
    everywhere(lambda model, rows: model.partial_fit(rows[100:], y[100:]))
    everywhere(lambda model, _: model.relabel([1, 2, 120], 1 - y[[1, 2, 120]]))
    close(own.leave_one_out().scores, native.leave_one_out().scores, 1e-7)
    np.testing.assert_array_equal(own.support_vectors_, X[own.support_])
    everywhere(lambda model, rows: model.fit(rows, y))
    everywhere(lambda model, rows: model.forget([0, 149]))


# --- after a long time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_two_thousand_changes_do_not_drift(kernel):
    rng = np.random.default_rng(6)
    X, y = two_clouds(160, 2, seed=6)
    X, y = X / 4, np.where(y == 1, 1, -1)
    options = {"kernel": "rbf", "gamma": 20.0} if kernel == "rbf" else {"kernel": "linear"}
    machine = Compiled(X, y, np.ones(160), C=20.0, **options)
    out = list(range(160))
    for _ in range(2000):
        if len(out) > 60 or (out and rng.random() < 0.5):
            machine.add(out.pop(rng.integers(len(out))))
        else:
            out.append(int(rng.choice(machine.rows)))
            machine.remove(out[-1])
    assert machine.residual() < 1e-7
    assert machine.model.residual_ < 1e-8
    assert machine.model.n_fallbacks_ == 0
    assert machine.model.n_iter_ > 1000
    same_as_svc(machine)
    fresh = learned(X, y, np.ones(160), machine.rows, C=20.0, **options)
    close(machine.decision(), fresh.decision(), 1e-8)


def test_after_enough_changes_everything_is_computed_anew():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((140, 2))
    y = rng.choice([-1, 1], 140)
    machine = learned(X, y, np.ones(140), range(140), C=100.0, kernel="rbf", gamma=2.0)
    assert machine.model.n_refreshes_ == 0
    for turn in range(3000):
        machine.flip(turn % 140)
        if machine.model.n_refreshes_:
            break
    assert machine.model.n_refreshes_ == 1
    assert pickle.loads(pickle.dumps(machine.model)).n_refreshes_ == 1
    assert machine.residual() < 1e-7
    same_as_svc(machine)
