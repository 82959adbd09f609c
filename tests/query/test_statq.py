"""StatQSVM: the reference version step by step, what can be proved, walks, ends; chunk learners in common."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.svm import SVC

from everlearn import StatQSVM
from everlearn.query._chunk_learner import ChunkRun
from everlearn.query.statq import SamplingPass
from property_helpers import property_test
from query.statq_helpers import EXACT, LEARNERS, VARIANTS, after_seed, check_plain_loop, lasvm
from reference import statq as twin
from reference.test_reference_statq import clouds

TWINS = {
    "robust": twin.statq,
    "published": lambda *args: twin.statq(*args, robust=False),
    "published, p": lambda *args: twin.statq(*args, robust=False, stopping="p", threshold=0.6),
}


# --------------------------------------------------------------------------------------------- step by step


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", TWINS)
def test_it_is_the_plain_loop(name, seed):
    check_plain_loop(name, TWINS[name], seed)


@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_of_chunks_that_lacked_a_class_were_read(learner):
    X, y = clouds(400, 0)
    y[:] = -1
    y[:8] = 1
    random = after_seed(1)
    if learner is StatQSVM:
        random.permutation(400)  # T
    Q, read = twin.first_chunk(y, 12, random)
    model = learner(chunk_size=12, max_iter=0, random_state=1).fit(X, y)
    np.testing.assert_array_equal(model.used_, Q)
    np.testing.assert_array_equal(model.examined_, sorted(read))
    assert len(read) > 12


# ----------------------------------------------------------------------------------------- what can be proved


@pytest.mark.parametrize("estimator", [EXACT, lasvm(tol=1e-7), SVC(gamma=0.5, C=2, tol=1e-9)])
def test_rows_outside_the_margin_change_nothing(estimator):
    X, y = clouds(400, 3)
    course = ChunkRun(X, y, (y > 0).astype(np.intp), 40, estimator, np.random.RandomState(0))
    course.solve(course.draw_first())
    before, rows = course.scores(np.arange(400)), np.arange(400)
    outside = np.flatnonzero(course.margins(rows, before) > 1 + 1e-5)
    assert len(outside) > 20
    course.solve(np.union1d(course.support, outside))
    np.testing.assert_allclose(course.scores(rows), before, atol=1e-4)


def test_no_confidence_is_a_trap_unless_robust():
    """T has one class, so that c is 0: only rows outside of the margin are taken, for ever."""
    X, y = clouds(300, 1)
    random = after_seed(3)
    y[random.permutation(300)[:30]] = 1
    published, robust = (
        StatQSVM(EXACT, chunk_size=15, max_iter=8, robust=robust, random_state=3).fit(X, y)
        for robust in (False, True)
    )
    assert [entry["confidence"] for entry in published.history_] == [None, *[0.0] * 8]
    assert all(entry["queried"] == entry["n_outside_margin"] for entry in published.history_)
    assert published.n_used_ > 60
    first = clone(published).set_params(max_iter=0).fit(X, y)
    np.testing.assert_allclose(published.decision_function(X), first.decision_function(X), atol=1e-5)
    assert robust.confidence_ == 0
    assert any(entry["queried"] > entry["n_outside_margin"] for entry in robust.history_)
    assert np.abs(robust.decision_function(X) - first.decision_function(X)).max() > 0.1


def test_one_neighbor_means_no_confidence():
    X, y = clouds(300, 4, apart=3.0)
    model = StatQSVM(EXACT, chunk_size=2, max_iter=5, robust=False, random_state=0).fit(X, y)
    first = clone(model).set_params(max_iter=0).fit(X, y)
    assert len(first.support_) == 2  # of which the root is 1
    assert model.confidence_ == 0
    np.testing.assert_allclose(model.decision_function(X), first.decision_function(X), atol=1e-5)


@property_test(25)
@given(st.sampled_from(sorted(VARIANTS)), st.integers(0, 1000), st.integers(2, 40), st.floats(0.2, 3))
def test_invariants_of_a_course(name, seed, chunk, apart):
    X, y = clouds(150, seed, apart)
    model = clone(VARIANTS[name]).set_params(chunk_size=chunk, random_state=seed).fit(X, y)
    assert set(y[model.support_]) == {-1, 1}
    assert set(model.support_) <= set(model.used_) <= set(model.examined_)
    assert model.n_used_ <= model.n_examined_ <= getattr(model, "n_labels_", 150) <= 150
    assert 0 <= getattr(model, "confidence_", 0) <= 1
    for before, after in zip(model.history_, model.history_[1:], strict=False):
        assert before["used"] <= after["used"]
        assert before["examined"] <= after["examined"]
        if "n_outside_margin" in after:
            assert 0 <= after["n_outside_margin"] <= after["queried"] <= min(chunk, after["walked"])
    if name.startswith(("smooth", "query", "incr")) and chunk > 10:
        assert model.n_used_ == model.n_examined_


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_on_more_rows_is_not_lower(seed):
    X, y = clouds(300, seed)
    least = []
    for rows in (np.arange(30), np.arange(60)):
        machine = lasvm().fit(X[rows], y[rows])
        w = machine.dual_coef_ @ machine.support_vectors_
        least.append(
            0.5 * (w @ w.T).item() + np.maximum(0, 1 - y[rows] * machine.decision_function(X[rows])).sum()
        )
    assert least[1] >= least[0] - 1e-3


# ---------------------------------------------------------------------------------------------------- walks


class Slope:
    """An estimator whose score is the first feature."""

    def decision_function(self, X):
        return X[:, 0]


def walk(scores, labels, chunk=10**9, confidence=0.3, robust=False, smooth=False, kept=(), seed=0):
    X, y = np.array(scores, dtype=float)[:, np.newaxis], np.asarray(labels)
    course = ChunkRun(X, y, (y > 0).astype(np.intp), chunk, None, np.random.RandomState(seed))
    course.machine = Slope()
    found = SamplingPass(course, np.array(kept, dtype=np.intp), confidence, robust, smooth)
    assert course.examined.sum() == (0 if smooth else found.walked)
    return course, found


@pytest.mark.parametrize("robust", [True, False])
@pytest.mark.parametrize("c", [0.0, 0.1, 0.3, 0.8, 1.0])
def test_acceptance_frequencies(c, robust):
    rng = np.random.default_rng(1)
    f, y = 3 * rng.standard_normal(20_000), np.where(rng.random(20_000) < 0.5, 1, -1)
    f[:50] = y[:50]  # exactly 1 counts as inside
    course, found = walk(f, y, confidence=c, robust=robust)
    inside, chance = y * f <= 1, max(c, 0.2) if robust else c
    taken = np.zeros(20_000, bool)
    taken[found.taken] = True
    for hits, probability in ((taken[inside], chance), (taken[~inside], 1 - chance), (taken[:50], chance)):
        assert binomtest(int(hits.sum()), len(hits), probability).pvalue > 1e-4
    assert found.walked == 20_000
    assert found.ask(course) == taken[~inside].sum()
    assert found.walked_outside == (~inside).sum()


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0])
def test_smooth_acceptance_frequencies(c):
    rng = np.random.default_rng(2)
    f, y = np.repeat([0.0, 0.3, 1.0, -2.0], 5_000), np.where(rng.random(20_000) < 0.5, 1, -1)
    course, found = walk(f, y, confidence=c, smooth=True)
    for score in np.unique(f):
        hits = np.isin(np.flatnonzero(f == score), found.taken)
        chance = np.exp(-abs(score) / max(1 - c, 0.1))
        assert binomtest(int(hits.sum()), len(hits), chance).pvalue > 1e-4
    assert found.ask(course) == np.sum((y * f)[found.taken] > 1)
    np.testing.assert_array_equal(np.flatnonzero(course.examined), np.sort(found.taken))
    assert found.walked_outside == 5_000


@property_test(50)
@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0, 1), st.booleans(), st.booleans())
def test_a_walk_takes_rows_once_and_none_that_is_kept(seed, chunk, c, robust, smooth):
    rng = np.random.default_rng(seed)
    f, y = 2 * rng.standard_normal(100), np.where(rng.random(100) < 0.5, 1, -1)
    kept = rng.permutation(100)[:20]
    course, found = walk(f, y, chunk, c, robust, smooth, kept, seed)
    assert len(set(found.taken)) == len(found.taken) <= chunk
    assert not set(found.taken) & set(kept)
    assert 0 <= found.ask(course) <= len(found.taken)
    assert set(found.taken) <= set(np.flatnonzero(course.examined))
    assert found.walked == 80 or len(found.taken) == chunk
    assert course.examined.sum() == (len(found.taken) if smooth else found.walked)


# -------------------------------------------------------------------------------------------- labels and ends


@pytest.mark.parametrize("name", VARIANTS)
def test_labels_that_were_not_read_do_not_matter(name):
    X, y = clouds(600, 5, apart=1.5)
    model = clone(VARIANTS[name]).set_params(chunk_size=20, max_iter=4, random_state=0).fit(X, y)
    read = np.union1d(model.examined_, getattr(model, "confidence_rows_", model.examined_))
    assert len(read) == getattr(model, "n_labels_", model.n_examined_) < 500
    other = y.copy()
    unread = np.setdiff1d(np.arange(600), read)
    other[unread] = np.random.RandomState(0).choice([-1, 1], len(unread))
    again = clone(model).fit(X, other)
    np.testing.assert_array_equal(again.support_, model.support_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_what_ends_a_fit():
    X, y = clouds(300, 6, apart=3.0)
    ends = {
        StatQSVM(chunk_size=20, max_iter=2, robust=False): "step limit",
        StatQSVM(chunk_size=20, max_iter=-1): "nearly all rows lie outside the margin",
        StatQSVM(chunk_size=20, robust=False, criterion="outside", threshold=0.5): "threshold exceeded",
        StatQSVM(
            chunk_size=20, robust=False, criterion="confidence*outside", threshold=0
        ): "step limit",  # c is 0
        StatQSVM(chunk_size=300, keep="all"): "nothing left to query",
    }
    for model, words in ends.items():
        assert model.set_params(random_state=0).fit(X, y).stop_reason_ == words, model


def test_both_readings_of_the_stopping_rule():
    X, y = clouds(400, 7)
    for stopping in ("confidence*outside", "outside"):
        model = StatQSVM(
            chunk_size=20, max_iter=30, robust=False, criterion=stopping, threshold=0.25, random_state=0
        )
        *before, last = [
            (entry["confidence"] if stopping == "confidence*outside" else 1)
            * entry["n_outside_margin"]
            / entry["queried"]
            for entry in model.fit(X, y).history_[1:]
        ]
        assert model.stop_reason_ == "threshold exceeded"
        assert last > 0.25
        assert all(value <= 0.25 for value in before)
        assert model.n_iter_ == len(model.history_) - 1


def test_max_iter_counts_steps_after_the_first_machine():
    X, y = clouds(300, 8)
    for learner in LEARNERS:
        for most in (0, 3):
            model = learner(chunk_size=20, max_iter=most, random_state=0).fit(X, y)
            assert model.n_iter_ == len(model.history_) == most + 1


@pytest.mark.parametrize("learner", LEARNERS)
def test_default_chunk(learner):
    for rows, chunk in ((40, 10), (900, 30)):
        X, y = clouds(rows, 0)
        assert learner(max_iter=0, random_state=0).fit(X, y).n_used_ == chunk
