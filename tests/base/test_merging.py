"""Merging: the SVM of all rows that several learners hold, against SVC and a plain solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from everlearn import (
    IDSVM,
    KOIL,
    LASVM,
    LASVMG,
    LASVMI,
    LASVMNC,
    NORMA,
    RBP,
    AveragedKernelPerceptron,
    BudgetKernelPerceptron,
    Forgetron,
    FullSVM,
    KernelPA,
    KernelPerceptron,
    LocalSVM,
    OnlineSVMR,
    Projectron,
    ProjectronPP,
    RampSVM,
    load,
    merge,
    save,
)
from everlearn.datasets import make_banana, make_checkerboard
from property_helpers import property_test

C, GAMMA = 10.0, 4.0


def noisy(n=600, seed=0, flipped=0.15):
    X, y = make_checkerboard(n, random_state=seed)
    return X, np.where(np.random.default_rng(seed).random(n) < flipped, -y, y)


def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return StandardScaler().fit_transform(X)[order], y[order]


def parts_of(learner, X, y, count=3, weights=None, **options):
    return [
        learner(gamma=GAMMA, **options).fit(
            X[k::count], y[k::count], *([] if weights is None else [weights[k::count]])
        )
        for k in range(count)
    ]


def svc(X, y, weights=None):
    peer = SVC(C=C, gamma=GAMMA, tol=1e-6)
    return (
        OneVsRestClassifier(peer).fit(X, y)
        if len(np.unique(y)) > 2
        else peer.fit(X, y, sample_weight=weights)
    )


def assert_close(model, peer, X, atol=1e-2):
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=0, atol=atol)


# ----------------------------------------------------------------------------------------------------- exact


@pytest.mark.parametrize("form", [np.asarray, lambda X: X.astype(np.float32), sparse.csr_matrix])
@pytest.mark.parametrize("data", [noisy, wine])
@pytest.mark.parametrize("learner", [LASVM, IDSVM])
def test_models_that_have_every_row_merge_into_the_svm_of_all(learner, data, form):
    X, y = data()
    merged = merge(parts_of(learner, form(X), y, C=C))
    assert_close(merged, svc(X, y), X)
    assert merged.n_iter_ == len(y)


@pytest.mark.parametrize("learner", [LASVM, LASVMG])
def test_without_a_reserve_it_is_the_svm_of_the_support_vectors(learner):
    X, y = noisy()
    parts = parts_of(learner, X, y, C=C, reserve=0, random_state=0)
    kept = [np.arange(len(y))[k::3][part.support_] for k, part in enumerate(parts)]
    rows = np.concatenate(kept)
    merged = merge(parts)
    peer = learner(C=C, gamma=GAMMA, random_state=0).fit(X[rows], y[rows])
    assert_close(merged, peer, X)
    of_all = learner(C=C, gamma=GAMMA).fit(X, y)
    assert not np.allclose(merged.decision_function(X), of_all.decision_function(X), atol=0.05)
    if learner is LASVM:
        assert_close(merged, svc(X[rows], y[rows]), X)


def test_weights_and_offsets_stay():
    X, y = noisy()
    weights = np.random.default_rng(3).uniform(0.1, 3, len(y))
    parts = parts_of(LASVM, X + 100.0, y, weights=weights, C=C)
    shifted = merge(parts).decision_function(X + 100.0)
    np.testing.assert_allclose(shifted, svc(X, y, weights).decision_function(X), rtol=0, atol=2e-2)


def test_streams_merge_too_and_go_on():
    X, y = noisy(900)
    parts = []
    for k in range(3):
        model = LASVM(C=C, gamma=GAMMA, class_weight={-1: 1, 1: 2})
        for start in range(k * 100, 600, 300):
            model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[-1, 1])
        parts.append(model)
    merged = merge(parts)
    peer = SVC(C=C, gamma=GAMMA, tol=1e-6, class_weight={-1: 1, 1: 2})
    assert_close(merged, peer.fit(X[:600], y[:600]), X)
    merged.partial_fit(X[600:], y[600:]).finish()
    assert_close(merged, peer.fit(X, y), X)
    assert merged.get_params() == parts[0].get_params()
    assert merged.n_iter_ == 900


def test_fullsvm_is_exact():
    X, y = noisy(300)
    merged = merge(parts_of(FullSVM, X, y, C=C, tol=1e-5))
    assert_close(merged, FullSVM(C=C, gamma=GAMMA, tol=1e-5).fit(X, y), X)


def test_a_class_that_nobody_has_seen_stays_a_class():
    X, y = noisy(200)
    parts = [LASVM(C=C, gamma=GAMMA).partial_fit(X[k::2], y[k::2], classes=[-1, 1, 5]) for k in range(2)]
    merged = merge(parts)
    assert merged.classes_.tolist() == [-1, 1, 5]
    assert set(merged.predict(X).tolist()) <= {-1, 1}


# ------------------------------------------------------------------------------------------------- ramp loss


def solve_boxes(K, y, lower, upper):
    """Max sum y a - a K a / 2 in a box, by a general optimizer."""
    found = minimize(
        lambda a: a @ K @ a / 2 - y @ a,
        np.zeros(len(y)),
        jac=lambda a: K @ a - y,
        bounds=list(zip(lower, upper, strict=True)),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return found.x


@pytest.mark.parametrize("learner", [LASVMNC, LASVMI])
def test_the_ramp_learners_merge_on_their_rows_and_boxes(learner):
    X, y = noisy(1500)
    parts = parts_of(learner, X, y, C=C, min_support=20, random_state=0, tol=1e-5)
    assert all((part.n_outliers_ if learner is LASVMNC else part.n_skipped_)[0] > 0 for part in parts)
    rows, edges = [], []
    for k, part in enumerate(parts):
        state = part._machine.native.get_state()
        rows.append(np.arange(len(y))[k::3][state["ids"]])
        edges.append(state["edge"][0])
    rows, edge = np.concatenate(rows), np.concatenate(edges)
    K = rbf_kernel(X[rows], gamma=GAMMA)
    alpha = solve_boxes(K, y[rows].astype(float), np.minimum(edge, 0), np.maximum(edge, 0))
    merged = merge(parts)
    np.testing.assert_allclose(
        merged.decision_function(X), rbf_kernel(X, X[rows], gamma=GAMMA) @ alpha, rtol=0, atol=5e-3
    )
    assert merged.duality_gap_[0] < 1e-2
    merged.partial_fit(X[:50], y[:50])


@pytest.mark.parametrize("learner", [OnlineSVMR, RampSVM])
def test_ramp_optima_merge_into_one(learner):
    X, y = noisy(600)
    parts = parts_of(learner, X, y, C=C)
    merged = merge(parts)
    if learner is OnlineSVMR:  # it has all rows, so the merged model is that of all rows
        peer = RampSVM(C=C, gamma=GAMMA).fit(X, y)
    else:
        rows = np.concatenate([np.arange(len(y))[k::3][part.support_] for k, part in enumerate(parts)])
        peer = RampSVM(C=C, gamma=GAMMA).fit(X[rows], y[rows])
    assert_close(merged, peer, X)
    np.testing.assert_allclose(merged.objective_, peer.objective_, rtol=1e-4)


# ---------------------------------------------------------------------------------------------------- budget

BUDGET = [BudgetKernelPerceptron, RBP, Forgetron, Projectron, ProjectronPP, NORMA]


@pytest.mark.parametrize("learner", [*BUDGET, KernelPA, KernelPerceptron])
def test_within_the_budget_it_is_the_mean(learner):
    X, y = make_banana(400, random_state=0)
    parts = [
        learner(gamma=1.0).partial_fit(X[a:b], y[a:b], classes=[-1, 1]) for a, b in ((0, 100), (100, 400))
    ]
    merged = merge(parts)
    mean = 0.25 * parts[0].decision_function(X) + 0.75 * parts[1].decision_function(X)
    atol = 0.1 if "Projectron" in learner.__name__ else 1e-3  # rows in the span of others are not kept twice
    np.testing.assert_allclose(merged.decision_function(X), mean, rtol=0, atol=atol)
    assert merged.n_iter_ == 400


@pytest.mark.parametrize("learner", BUDGET)
def test_beyond_the_budget_it_is_the_nearest_function_on_the_rows_that_stay(learner):
    X, y = make_banana(900, random_state=0)
    parts = [
        learner(budget=15, gamma=1.0, random_state=0).partial_fit(X[k::3], y[k::3], classes=[-1, 1])
        for k in range(3)
    ]
    merged = merge(parts)
    assert merged.n_kept_ <= 15
    # The difference is orthogonal to the span of the rows that stay: it is 0 on them.
    rows = merged.support_vectors_
    mean = np.mean([part.decision_function(rows) for part in parts], axis=0)
    np.testing.assert_allclose(merged.decision_function(rows), mean, rtol=0, atol=2e-3)
    assert merged.score(X, y) > np.mean([part.score(X, y) for part in parts]) - 0.05
    merged.partial_fit(X[:200], y[:200])
    assert merged.n_kept_ <= 15


def test_several_classes_on_a_budget():
    X, y = wine()
    parts = [RBP(budget=10, gamma=0.05).partial_fit(X[k::2], y[k::2], classes=[0, 1, 2]) for k in range(2)]
    merged = merge(parts)
    assert (merged._machine.native.members.sum(axis=1) <= 10).all()
    assert merged.score(X, y) > 0.8


# ------------------------------------------------------------------------------------------------ properties


@property_test(max_examples=15)
@given(cut=st.lists(st.integers(0, 3), min_size=120, max_size=120), seed=st.integers(0, 50))
def test_however_rows_are_divided_the_result_is_the_same(cut, seed):
    X, y = noisy(120, seed=seed)
    groups = [np.flatnonzero(np.array(cut) == k) for k in range(4)]
    parts = [
        LASVM(C=C, gamma=GAMMA, random_state=0).partial_fit(X[g], y[g], classes=[-1, 1])
        for g in groups
        if len(g)
    ]
    assert_close(merge(parts), svc(X, y), X)


def test_the_models_do_not_change_and_the_result_is_saved(tmp_path):
    X, y = noisy(300)
    parts = parts_of(LASVM, X, y, C=C, random_state=0)
    before = [part.decision_function(X) for part in parts]
    first, second = merge(parts), merge(iter(parts))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    for part, was in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part.decision_function(X), was)
    save(first, tmp_path / "merged")
    np.testing.assert_array_equal(load(tmp_path / "merged").decision_function(X), first.decision_function(X))


def own_kernel(A, B):
    return rbf_kernel(A, B, gamma=GAMMA)


@pytest.mark.parametrize("learner", [LASVMNC, IDSVM, RBP])
def test_a_callable_kernel_is_as_good_as_a_built_in_one(learner):
    X, y = noisy(200)
    models = [
        [learner(**kind).partial_fit(X[k::2], y[k::2], classes=[-1, 1]) for k in range(2)]
        for kind in ({"kernel": own_kernel}, {"gamma": GAMMA})
    ]
    assert_close(*map(merge, models), X)


def test_a_callable_kernel_and_svc():
    X, y = noisy(200)
    parts = [LASVM(C=C, kernel=own_kernel).partial_fit(X[k::2], y[k::2], classes=[-1, 1]) for k in range(2)]
    rows = np.concatenate([np.arange(200)[k::2][part.stored_ids()] for k, part in enumerate(parts)])
    assert_close(merge(parts), svc(X[rows], y[rows]), X)


# ------------------------------------------------------------------------------------------------------- ids


def test_ids_can_be_kept_for_forgetting():
    X, y = noisy(300)
    ids = np.arange(300) * 7 + 3
    parts = [
        LASVM(C=C, gamma=GAMMA).partial_fit(X[k::2], y[k::2], classes=[-1, 1], ids=ids[k::2])
        for k in range(2)
    ]
    merged = merge(parts, keep_ids=True)
    assert set(merged.support_) <= set(ids.tolist())
    gone = np.concatenate([part.support_[:20] for part in parts])
    merged.forget(gone)
    stay = ~np.isin(ids, gone)
    assert_close(merged, svc(X[stay], y[stay]), X)


def test_the_same_ids_are_refused_if_they_are_to_be_kept():
    X, y = noisy(100)
    parts = parts_of(IDSVM, X, y, count=2, C=C)
    with pytest.raises(ValueError, match=r"ids that differ.*50 are in several, such as 0"):
        merge(parts, keep_ids=True)
    assert merge(parts).ids_.tolist() == list(range(100))


# ----------------------------------------------------------------------------------------------------- input


def fitted(learner=LASVM, X=None, **options):
    own, y = noisy(80)
    return learner(**({"gamma": 1.0} | options)).fit(own if X is None else X, y)


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ([], ValueError, "at least one fitted learner"),
        ([LASVM()], NotFittedError, "not fitted"),
        ([fitted(), fitted(LASVMG)], TypeError, "one class, got LASVM and LASVMG"),
        ([fitted(), SVC()], TypeError, "cannot merge SVC"),
        ([fitted(LocalSVM)], TypeError, "cannot merge LocalSVM"),
        ([fitted(KOIL)], TypeError, "cannot merge KOIL"),
        ([fitted(AveragedKernelPerceptron)], TypeError, "cannot merge AveragedKernelPerceptron"),
        ([fitted(), fitted(kernel="linear")], ValueError, "kernel differs: 'rbf' and 'linear'"),
        ([fitted(), fitted(gamma=2.0)], ValueError, r"gamma differs: 1.0 and 2.0.*same number"),
        ([fitted(), fitted(C=3.0)], ValueError, "C differs: 1.0 and 3.0"),
        ([fitted(), fitted(class_weight="balanced")], ValueError, "class_weight differs"),
        ([fitted(), fitted(X=np.ones((80, 5)))], ValueError, "number of features differs: 2 and 5"),
        ([fitted(RampSVM), fitted(RampSVM, s=-0.5)], ValueError, "s differs"),
        ([fitted(IDSVM, window=100), fitted(IDSVM)], ValueError, "160 rows together, more than window=100"),
        (
            [fitted(kernel="poly", degree=2), fitted(kernel="poly", degree=3)],
            ValueError,
            "degree differs: 2 and 3",
        ),
        ([fitted(X=np.eye(80), kernel="precomputed")], ValueError, "precomputed"),
    ],
    ids=str,
)
def test_what_does_not_fit_together_is_refused(models, error, message):
    with pytest.raises(error, match=message):
        merge(models)


def test_other_classes_are_refused():
    X, y = noisy(80)
    with pytest.raises(ValueError, match=r"classes_ differs: \[-1, 1\] and \[0, 1\]"):
        merge([fitted(), LASVM(gamma=1.0).fit(X, (y > 0).astype(int))])


def test_one_model_alone_is_the_svm_of_its_rows():
    X, y = noisy(200)
    assert_close(merge([LASVM(C=C, gamma=GAMMA).fit(X, y)]), svc(X, y), X)
