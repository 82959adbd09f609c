"""AdaptiveSVM: looking and interrupted calls change nothing, and when parameters take effect."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from adaptive.adaptive_helpers import SVMS, X, Y, bits, blobs, consistent
from everlearn import AdaptiveSVM
from everlearn.adaptive import Expert, _committee

# ----------------------------------------------------------------------------------- looking changes nothing


def test_looking_changes_nothing(learner):
    before, given = bits(learner), X.copy()
    for _ in range(2):
        for method in ("predict", "decision_function", "predict_proba"):
            getattr(learner, method)(given)
        learner.score(given, Y)
        for name in ("weights_", "experts_", "ids_", "n_kept_", "support_", "classes_"):
            getattr(learner, name)
        learner.get_params()
        repr(learner)
        bits(learner)
    learner.weights_[:] = learner.ids_[:] = 7
    learner.experts_.clear()
    assert bits(learner) == before
    np.testing.assert_array_equal(given, X)


@pytest.mark.parametrize("scaling", ["standard", "none"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_arrays_of_the_caller_are_neither_changed_nor_kept(scaling, kind):
    A, b = blobs(40, 3)
    given, labels, weight, ids = kind(A), b.copy(), np.linspace(0.5, 2, 40), np.arange(40)[::-1].copy()
    learners = [AdaptiveSVM(experts=[*SVMS, GaussianNB()][: 3 + (kind is np.asarray)], scaling=scaling)]
    learners.append(AdaptiveSVM(experts=SVMS, scaling=scaling, random_state=0))
    learners[0].partial_fit(given, labels, sample_weight=weight, ids=ids)
    learners[1].fit(given, labels, sample_weight=weight)
    before = [bits(each) for each in learners]
    values = given.data if sparse.issparse(given) else given
    np.testing.assert_array_equal(given.toarray() if sparse.issparse(given) else given, A)
    np.testing.assert_array_equal(labels, b)
    values[:] = 1e6
    labels[:], weight[:], ids[:] = 1, 9.0, 5
    assert [bits(each) for each in learners] == before


def test_a_model_of_the_caller_is_copied():
    A, b = blobs(60)
    model = GaussianNB()
    learner = AdaptiveSVM(experts=[*SVMS, model]).partial_fit(A, b)
    assert not hasattr(model, "classes_")
    other = AdaptiveSVM(experts=[*SVMS, GaussianNB()]).partial_fit(A, b)
    model.set_params(var_smoothing=0.9)
    for each in (learner, other):
        each.partial_fit(A, b)
    np.testing.assert_array_equal(learner.decision_function(A), other.decision_function(A))


# ---------------------------------------------------------------------------------------------- interruption


class Interruption:
    """Raise KeyboardInterrupt at the n-th line that runs in the package's own code for AdaptiveSVM."""

    def __init__(self, at):
        self.left, self.fired = at, False

    def trace(self, frame, event, arg):
        if "adaptive" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        if event == "line" and not self.fired:
            self.left -= 1
            if self.left <= 0:
                self.fired = True
                raise KeyboardInterrupt
        return self.trace

    def during(self, call):
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


def interrupted_anywhere(make, call, step):
    """Interrupt a call at one line after the other: afterwards everything is as it was before it."""
    n, count = 1, 0
    while True:
        learner = make()
        before, votes, weights = bits(learner), learner.decision_function(X), learner.weights_
        if not Interruption(n).during(lambda learner=learner: call(learner)):
            return count
        assert consistent(learner)
        done = make()
        call(done)
        n, count = n + step, count + 1
        if bits(learner) == bits(done):  # at the very end of the call
            continue
        np.testing.assert_array_equal(learner.weights_, weights)
        np.testing.assert_allclose(learner.decision_function(X), votes, rtol=0, atol=0.02)  # to the tolerance
        if learner._committee.n_changes == make()._committee.n_changes:
            assert bits(learner) == before
        call(learner)
        np.testing.assert_allclose(learner.decision_function(X), done.decision_function(X), rtol=0, atol=0.05)
        np.testing.assert_allclose(learner.weights_, done.weights_, rtol=0, atol=0.02)
        np.testing.assert_array_equal(learner.ids_, done.ids_)


CALLS = {
    "a block that moves windows": lambda learner: learner.partial_fit(*blobs(12, 3, seed=2)),
    "a block that brings a class": lambda learner: learner.partial_fit(X, Y + 1),
    "a block that drops old rows": lambda learner: learner.partial_fit(*blobs(45, 3, seed=2)),
    "forget": lambda learner: learner.forget(learner.ids_[::3]),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_an_interrupted_call_leaves_the_learner_as_it_was(call):
    def make():
        A, b = blobs(30, 3)
        return AdaptiveSVM(experts=[*SVMS, GaussianNB()], max_rows=30, random_state=0).partial_fit(A, b)

    assert interrupted_anywhere(make, CALLS[call], 37) >= 3


def test_an_interrupted_first_call_leaves_nothing():
    A, b = blobs(30, 3)
    for n in range(1, 600, 60):
        learner = AdaptiveSVM(experts=SVMS)
        known = dict(vars(learner))
        assert Interruption(n).during(lambda learner=learner: learner.partial_fit(A, b))
        assert vars(learner) == known


def test_an_interruption_of_the_way_back_is_mended_by_the_next_call(learner, monkeypatch):
    done = learner.decision_function(X)

    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_committee.SvmVoter, "_keep", interrupt)  # in the call, and on its way back
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(X, Y)
    assert learner._committee.damaged
    state = learner._get_state()
    for each in (learner, AdaptiveSVM._from_state(state)):
        each.partial_fit(X, Y, sample_weight=np.zeros(6))
        assert consistent(each)
        np.testing.assert_allclose(each.decision_function(X), done, rtol=0, atol=0.02)


# -------------------------------------------------------------------------------- parameters between calls


def test_parameters_of_the_vote_take_effect_at_once(learner):
    A, b = blobs(20, 3, seed=3)
    assert np.ptp(learner.weights_) > 0.01
    np.testing.assert_allclose(learner.set_params(fixed_share=1.0).weights_, 0.25)
    np.testing.assert_allclose(learner.set_params(fixed_share=0.0, learning_rate=0.0).weights_, 0.25)
    learner.set_params(learning_rate=1.0, fading_factor=0.0).partial_fit(A[:1], b[:1])
    assert (learner._committee.vote.costs <= 5.0).all()  # the last label alone
    learner.set_params(fixed_share=2.0)
    for call in (lambda: learner.weights_, lambda: learner.predict(A)):
        with pytest.raises(ValueError, match=r"'fixed_share'.*got 2\.0"):
            call()


def test_max_rows_takes_effect_at_the_next_rows(learner):
    A, b = blobs(300, 3, seed=3)
    learner.set_params(max_rows=12).partial_fit(A[:1], b[:1])
    assert learner.n_kept_ == 12
    assert consistent(learner)
    learner.set_params(max_rows=100).partial_fit(A, b)
    assert 100 <= learner.n_kept_ <= 110
    table = AdaptiveSVM(max_rows=50, random_state=0).fit(A, b).partial_fit(A[:10], b[:10])
    assert table.n_kept_ == 310
    assert table.set_params(max_rows=60).partial_fit(A[:1], b[:1]).n_kept_ == 60


def test_class_weight_takes_effect_for_the_rows_that_come(learner):
    A, b = blobs(40, 3, seed=3)
    share = np.mean(learner.predict(A) == 0)
    learner.set_params(class_weight={0: 100.0}).partial_fit(A, b)
    assert np.mean(learner.predict(A) == 0) > share


@pytest.mark.parametrize("params", [{"experts": "auto"}, {"experts": SVMS}, {"scaling": "none"}], ids=str)
def test_what_a_stream_began_with_cannot_change(learner, params):
    (name,), good = params, learner.get_params(deep=False)
    before = bits(learner)
    for each in (learner.set_params(**params), AdaptiveSVM._from_state(learner._get_state())):
        for call in (lambda each=each: each.partial_fit(X, Y), lambda each=each: each.forget([59])):
            with pytest.raises(ValueError, match=f"{name} cannot change during a stream"):
                call()
    assert bits(learner.set_params(**good)) == before
    learner.set_params(**params).fit(*blobs(30, 3))
    assert len(learner.experts_) == len(learner.weights_)


def test_the_same_experts_in_another_list_are_no_change():
    A, b = blobs(40)
    learner = AdaptiveSVM(experts=SVMS).partial_fit(A, b)
    learner.set_params(experts=[Expert("linear"), Expert("rbf", window=20), Expert("no-change")])
    assert learner.partial_fit(A, b).n_kept_ == 80


def test_a_random_state_object_is_drawn_from_once():
    A, b = blobs(50)
    generator = np.random.RandomState(0)
    learner = AdaptiveSVM(experts=SVMS, random_state=generator).partial_fit(A[:20], b[:20])
    state = generator.get_state()[2]
    learner.partial_fit(A[20:], b[20:]).predict(A)
    assert generator.get_state()[2] == state
    first, second = (AdaptiveSVM(random_state=np.random.RandomState(3)).fit(A, b) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(A), second.decision_function(A))
