"""The exact SVM of rows in several parts, in one process: the violation of the result, and SVC."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from base.parts_helpers import fit_parts, in_parts
from everlearn import LASVM
from everlearn._base import part_scores, parts
from everlearn.datasets import make_checkerboard
from property_helpers import property_test

C, GAMMA = 10.0, 4.0


def noisy(n, seed=0, flipped=0.1):
    X, y = make_checkerboard(n, random_state=seed)
    return X, np.where(np.random.default_rng(seed).random(n) < flipped, -y, y)


def violation(model, X, y, costs):
    """The largest violation of the optimality conditions over all rows, from the decision values alone."""
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    gradient = y - (model.decision_function(X) - model.intercept_[0])
    upper, lower = np.maximum(y * costs, 0), np.minimum(y * costs, 0)
    return gradient[alpha < upper - 1e-12].max() - gradient[alpha > lower + 1e-12].min()


@property_test(max_examples=60)
@given(
    n=st.integers(30, 1500),
    count=st.integers(1, 6),
    seed=st.integers(0, 1000),
    ordered=st.booleans(),
    gamma=st.sampled_from([0.5, 4.0, 30.0]),
)
def test_no_row_violates_its_condition_by_more_than_tol(n, count, seed, ordered, gamma):
    X, y = noisy(n, seed=seed)
    if ordered:  # most parts have a single class
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    model, here = fit_parts(LASVM(C=C, gamma=gamma, random_state=seed), in_parts(X, y, count), seed)
    assert violation(model, X, y, np.full(n, C)) < 2e-3
    assert here.rounds < 60


def test_rows_that_leave_the_model_and_come_back_are_not_lost():
    X, y = noisy(6000)
    model, _ = fit_parts(LASVM(C=C, gamma=GAMMA, random_state=0), in_parts(X, y, 2))
    assert violation(model, X, y, np.full(len(y), C)) < 2e-3


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32) + 50])
def test_every_kernel_and_form_is_the_svm_of_all_rows(kernel, form):
    X, y = noisy(400)
    rows = form(X)
    learner = LASVM(C=1.0, kernel=kernel, gamma=1.0, tol=1e-4, random_state=0)
    if kernel == "poly" and not sparse.issparse(rows):
        rows = form(X) - np.float32(50 if rows.dtype == np.float32 else 0)
    model, _ = fit_parts(learner, in_parts(rows, y, 3))
    central = learner.fit(rows, y)
    np.testing.assert_allclose(
        model.decision_function(rows), central.decision_function(rows), rtol=0, atol=1e-2
    )


def test_several_classes_some_of_which_a_part_has_never_seen():
    X, _ = noisy(900)
    y = np.digitize(X[:, 0] + 0.2 * np.sin(9 * X[:, 1]), [0.3, 0.5, 0.7])
    order = np.argsort(y + np.random.default_rng(0).uniform(0, 1.3, len(y)))
    X, y = X[order], y[order]
    model, _ = fit_parts(LASVM(C=C, gamma=GAMMA, random_state=0), in_parts(X, y, 5))
    peer = OneVsRestClassifier(SVC(C=C, gamma=GAMMA, tol=1e-6)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=0, atol=1e-2)


def test_weights_of_zero_empty_parts_and_large_parts():
    X, y = noisy(6000)
    weights = np.random.default_rng(0).uniform(0, 2, len(y)) * (np.arange(len(y)) % 3 > 0)
    cuts = [slice(0), slice(5000), slice(5000, 5000), slice(5000, 6000)]
    model, _ = fit_parts(
        LASVM(C=C, gamma=GAMMA, random_state=0), [(X[cut], y[cut], weights[cut]) for cut in cuts]
    )
    used = weights > 0
    peer = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X[used], y[used], sample_weight=weights[used])
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=0, atol=1e-2)
    assert not np.isin(model.support_, np.flatnonzero(~used)).any()


def test_the_plan_is_what_one_fit_chooses():
    X, y = noisy(5000)
    X = X * [3.0, 1.0] + [100.0, 0.0]
    learner = LASVM(class_weight="balanced")
    given = [parts.validate_part(learner, *part) for part in in_parts(X, y, 3)]
    facts = [parts.describe_part(part) for part in given]
    heads = [parts.head_of(given[k], most) for k, most in parts.heads_needed(facts).items()]
    plan = parts.plan_of(learner, facts, heads)
    central = learner.fit(X, y)
    spec = central._machine.spec
    assert plan.spec["gamma"] == pytest.approx(spec["gamma"], rel=1e-12)
    np.testing.assert_array_equal(plan.spec["center"], spec["center"])
    assert {k: v for k, v in plan.spec.items() if k not in ("gamma", "center")} == {
        k: v for k, v in spec.items() if k not in ("gamma", "center")
    }
    np.testing.assert_allclose(plan.class_weights, central._class_weights(np.bincount(y > 0)))


def prepared(X, y, weights=None):
    part = parts.validate_part(LASVM(), X, y, weights)
    plan = parts.plan_of(LASVM(), [parts.describe_part(part)], [parts.head_of(part, len(y))])
    return parts.prepare_part(part, plan), plan


@pytest.mark.parametrize("n", [7, 1000, 1001, 9000])
def test_chunks_double_and_have_every_row_with_a_cost_once(n):
    X, y = noisy(n)
    weights = (np.arange(n) % 7 < 5).astype(float)
    rows, plan = prepared(X, y, weights)
    chunks = parts.chunks_of(rows, plan, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(np.concatenate(chunks)), np.flatnonzero(weights))
    assert len(chunks) == plan.n_chunks == {7: 1, 1000: 1, 1001: 2, 9000: 4}[n]
    expected = np.diff([0, *{9000: [1125, 2250, 4500]}.get(n, [min(n, 1000)][: n > 1000]), n])
    np.testing.assert_allclose([len(chunk) for chunk in chunks], expected * 5 / 7, rtol=0.1, atol=1)


def test_a_rare_class_is_in_the_first_chunk():
    X, y = noisy(9000)
    y[:] = -1
    y[4321] = 1
    rows, plan = prepared(X, y)
    for seed in range(5):
        assert 4321 in parts.chunks_of(rows, plan, np.random.RandomState(seed))[0]
    model, _ = fit_parts(LASVM(C=C, gamma=GAMMA, random_state=0), [(X, y)])
    assert 4321 in model.support_


def test_chunks_save_the_parts_kernel_values(monkeypatch):
    X, y = noisy(8000, flipped=0.3)
    learner = LASVM(C=1.0, gamma=GAMMA, random_state=0)
    model, chunked = fit_parts(learner, in_parts(X, y, 2))
    assert violation(model, X, y, np.full(len(y), 1.0)) < 2e-3
    monkeypatch.setattr(parts, "_FIRST_ROWS", 4000)
    whole, here = fit_parts(learner, in_parts(X, y, 2))
    # Only those of the parts, which do not depend on how the solver gets the values among its own rows.
    in_chunks = chunked.evaluations - model.n_kernel_evaluations_
    assert here.evaluations - whole.n_kernel_evaluations_ > 1.2 * in_chunks


@pytest.mark.parametrize("classes", [2, 3])
def test_of_very_many_violators_the_worst_are_sent_first(monkeypatch, classes):
    X, y = noisy(1500, flipped=0.3)
    if classes == 3:
        y = np.where(X[:, 0] > 0.8, 2, y)
    learner, given = LASVM(C=C, gamma=GAMMA, tol=1e-5, random_state=0), in_parts(X, y, 2)
    few = property(lambda _: 20, lambda *_: None)
    monkeypatch.setattr(part_scores.Check, "most_sent", few, raising=False)
    counts, original = [], part_scores.Check._sent

    def sent(check, found):
        outside = np.setdiff1d(check.state.near.rows, np.append(found, check.kept))
        if classes == 2 and len(found) == 20 and len(outside):
            assert check._margins(found).max() <= check._margins(outside).min()
        counts.append(len(found))
        return original(check, found)

    monkeypatch.setattr(part_scores.Check, "_sent", sent)
    model, _ = fit_parts(learner, given)
    assert counts.count(20) > 2
    assert max(counts) == 20
    np.testing.assert_allclose(
        model.decision_function(X), learner.fit(X, y).decision_function(X), rtol=0, atol=1e-3
    )


def test_rows_can_be_sent_in_a_pickle():
    X, y = noisy(50)
    part = parts.validate_part(LASVM(), sparse.csr_matrix(X), y)
    facts = [parts.describe_part(part)]
    plan = parts.plan_of(LASVM(), facts, [parts.head_of(part, 50)])
    rows = parts.prepare_part(part, plan)
    again = pickle.loads(pickle.dumps(rows))
    np.testing.assert_array_equal(again.X.toarray(), X)
    draws = [np.random.RandomState(3) for _ in range(2)]
    chosen = [
        parts.candidates(part, plan, np.arange(50), draw)[0]
        for part, draw in zip((rows, again), draws, strict=True)
    ]
    np.testing.assert_array_equal(*chosen)


def test_parts_that_do_not_fit_together_are_refused():
    X, y = noisy(60)
    with pytest.raises(ValueError, match="partition 1 has 1 columns, the first one 2 columns"):
        fit_parts(LASVM(), [(X[:30], y[:30]), (X[30:, :1], y[30:])])
    with pytest.raises(ValueError, match="partition 1 has sparse rows, the first one dense rows"):
        fit_parts(LASVM(), [(X[:30], y[:30]), (sparse.csr_matrix(X[30:]), y[30:])])
    with pytest.raises(ValueError, match="all partitions are empty"):
        fit_parts(LASVM(), [(X[:0], y[:0])])
    with pytest.raises(ValueError, match="two classes or more"):
        fit_parts(LASVM(), [(X[:30], np.ones(30, dtype=int)), (X[30:], y[30:], np.zeros(30))])
