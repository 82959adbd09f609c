"""After `forget` every expert is one that was trained on the rows that are left."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from adaptive.adaptive_helpers import bits, blobs, consistent
from everlearn import AdaptiveSVM
from everlearn.adaptive import Expert, _voters
from property_helpers import property_test

SVMS = [Expert("linear", C=1.0), Expert("rbf"), Expert("rbf", window=10), Expert("linear", window=25)]


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    monkeypatch.setattr(_voters, "_TAU", 1e-6)


def weights_of(ids):
    """Weights that are all different, so that the intercept of an SVM is a single number."""
    return 0.8 + 0.5 * np.modf(np.asarray(ids) * 0.6180339887)[0]


def trained_on_the_rows_left(learner, X):
    """The votes of experts that have never seen any rows but those kept, on the same scale."""
    fresh = AdaptiveSVM._from_state(learner._get_state())
    committee = fresh._committee
    committee.rebuild(fresh._kept(), committee.scale)
    return committee.given(fresh._scaler.transform(X))


def check(learner, X):
    assert consistent(learner)
    if learner._committee.ready:
        found = learner._committee.given(learner._scaler.transform(X))
        np.testing.assert_allclose(found, trained_on_the_rows_left(learner, X), rtol=0, atol=2e-3)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.integers(1, 20), st.integers(0, 2)),
        st.tuples(st.just("forget"), st.floats(0, 1), st.integers(0, 10**6)),
    ),
    min_size=2,
    max_size=8,
)


@property_test(20)
@given(steps, st.sampled_from([15, 200]), st.integers(0, 10**6))
def test_every_expert_equals_one_trained_on_the_rows_left(script, max_rows, seed):
    random = np.random.default_rng(seed)
    learner = AdaptiveSVM(experts=[*SVMS, Expert("no-change")], max_rows=max_rows)
    rows, next_id = random.normal(size=(30, 3)), 0
    learner.partial_fit(rows[:2], [0, 1], ids=[10**6, 10**6 + 1], sample_weight=[0.9, 1.1])
    for what, amount, number in script:
        if what == "learn":
            y = random.integers(0, number + 1, amount)
            X = random.normal(size=(amount, 3)) + 0.7 * y[:, np.newaxis]
            ids = np.arange(next_id, next_id + amount)
            learner.partial_fit(X, y, ids=ids, sample_weight=weights_of(ids))
            next_id += amount
        else:
            ids = learner.ids_
            gone = np.random.default_rng(number).choice(ids, int(amount * len(ids)), replace=False)
            left = ids[~np.isin(ids, gone)]
            learner.forget(gone)
            np.testing.assert_array_equal(learner.ids_, left)
            if len(gone):
                check(learner, rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_rows_of_a_class(n_classes):
    X, y = blobs(60, n_classes)
    learner = AdaptiveSVM(experts=SVMS).partial_fit(X, y, sample_weight=weights_of(np.arange(60)))
    learner.forget(np.flatnonzero(y == 1))
    check(learner, X)
    assert learner.classes_.tolist() == list(range(n_classes))
    assert not (learner.predict(X) == 1).any()
    learner.partial_fit(X[y == 1], y[y == 1])
    assert (learner.predict(X) == 1).any()


def test_all_rows():
    X, y = blobs(60, 3)
    learner = AdaptiveSVM(experts=[*SVMS, GaussianNB(), Expert("no-change")]).partial_fit(X, y)
    learner.forget(learner.ids_)
    assert learner.n_kept_ == 0
    assert learner.support_.tolist() == []
    np.testing.assert_allclose(learner.predict_proba(X), 1 / 3)
    for each in (learner, AdaptiveSVM._from_state(learner._get_state())):
        each.partial_fit(X, y)
        assert each.ids_.tolist() == list(range(60, 120))
        assert each.score(X, y) > 0.7


def test_older_rows_come_back_into_short_windows():
    X, y = blobs(80)
    learner = AdaptiveSVM(experts=SVMS).partial_fit(X, y, sample_weight=weights_of(np.arange(80)))
    learner.forget(np.arange(72, 80))
    windows = [sorted(voter.holds().tolist()) for voter in learner._committee.voters]
    assert windows == [list(range(72)), list(range(72)), list(range(62, 72)), list(range(47, 72))]
    check(learner, X)


def test_one_row_by_its_number():
    X, y = blobs(30)
    learner = AdaptiveSVM(experts=SVMS).partial_fit(X, y)
    assert learner.forget(7).ids_.tolist() == [*range(7), *range(8, 30)]
    with pytest.raises(ValueError, match="keeps no row with the id 7"):
        learner.forget(7)
    learner.partial_fit(X[7:8], y[7:8], ids=[7])  # the id is free again
    assert learner.ids_[-1] == 7


def test_forgetting_before_there_are_two_classes():
    X, y = blobs(30)
    learner = AdaptiveSVM(experts=SVMS).partial_fit(X[:6], np.zeros(6, int)).forget([0, 5])
    learner.partial_fit(X[6:], y[6:])
    assert learner.ids_.tolist() == [1, 2, 3, 4, *range(6, 30)]
    check(learner, X)


def test_a_forgotten_row_and_a_row_that_never_came_leave_the_same_svms():
    X, y = blobs(64)
    X[:5] += 50  # rows that would be noticed
    weight = weights_of(np.arange(64))
    learner = AdaptiveSVM(experts=SVMS, scaling="none").partial_fit(X, y, sample_weight=weight)
    learner.forget(range(5))
    other = AdaptiveSVM._from_state(learner._get_state())
    other._rows = type(other._rows)()
    other._rows.add(X[5:], y[5:].astype(np.int32), weight[5:], np.arange(5, 64))
    other._rebuild()
    np.testing.assert_allclose(
        learner._committee.given(X[5:]), other._committee.given(X[5:]), rtol=0, atol=2e-3
    )


@pytest.mark.parametrize("window", [None, 30])
def test_a_model_from_outside_unlearns_at_once(window):
    """Also where less than a tenth of its window changes."""
    X, y = blobs(60)
    y[40] = 1 - y[40]
    tree = Expert(estimator=DecisionTreeClassifier(random_state=0), window=window)
    learner = AdaptiveSVM(experts=[tree]).partial_fit(X, y)
    voter = learner._committee.voters[0]
    rows = learner._scaler.transform(X)
    assert voter.probabilities(rows)[40].argmax() == y[40]
    before = bits(learner)
    learner.forget([40])
    assert bits(learner) != before
    assert 40 not in voter.trained
    left = learner._kept()
    places = left.last(window)
    expected = DecisionTreeClassifier(random_state=0).fit(left.rows(places), left.labels[places])
    np.testing.assert_array_equal(voter.probabilities(rows), expected.predict_proba(rows))


def test_the_no_change_baseline_knows_the_labels_left_only():
    X, y = blobs(40)
    learner = AdaptiveSVM(experts=[Expert("no-change"), Expert("rbf")]).partial_fit(X, y)
    learner.forget(np.flatnonzero(y == 1))
    assert learner._committee.voters[0].probabilities(X)[0, 1] < 1e-3
