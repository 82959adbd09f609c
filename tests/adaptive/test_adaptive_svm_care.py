"""What AdaptiveSVM refuses, and that a call that is refused or interrupted leaves it as it was."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from adaptive.adaptive_helpers import bits, blobs, consistent
from everlearn import AdaptiveSVM
from everlearn.adaptive import Expert, _committee

SVMS = [Expert("linear"), Expert("rbf", window=20), Expert("no-change")]


@pytest.fixture
def learner():
    X, y = blobs(60, 3)
    return AdaptiveSVM(experts=[*SVMS, GaussianNB()], max_rows=40).partial_fit(X, y)


X, Y = blobs(6, 3, seed=1)
HUGE = np.where(np.arange(6)[:, np.newaxis] == 4, 1e200, X)
NAN = np.where(np.arange(6)[:, np.newaxis] == 5, np.nan, X)


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ({"X": NAN}, ValueError, "NaN"),
        ({"X": np.where(np.isnan(NAN), np.inf, X)}, ValueError, "infinity"),
        ({"X": X[:, :3]}, ValueError, "3 features.*expecting 4"),
        ({"X": X[:5]}, ValueError, "inconsistent numbers of samples"),
        ({"X": X[0]}, ValueError, "Expected 2D array"),
        ({"X": X[:0], "y": Y[:0]}, ValueError, "0 sample"),
        ({"X": HUGE}, ValueError, "squared length inf .* scale the features"),
        ({"X": sparse.csr_matrix(HUGE)}, ValueError, "squared length inf"),
        ({"y": Y + 0.5}, ValueError, "continuous"),
        ({"y": np.where(Y == 0, np.nan, Y)}, ValueError, "NaN"),
        ({"y": np.array(["a"] * 6)}, ValueError, "Mix of label input types"),
        ({"y": np.column_stack([Y, Y])}, ValueError, "1d array"),
        ({"classes": [0, 1]}, ValueError, r"classes=\[0, 1\] lacks some of the known classes"),
        ({"classes": [0, 1, 2], "y": Y + 1}, ValueError, r"not in classes=\[0, 1, 2\]: \[3\]"),
        ({"sample_weight": -np.ones(6)}, ValueError, "Negative values in data passed to `sample_weight`"),
        ({"sample_weight": np.ones(5)}, ValueError, r"sample_weight.shape == \(5,\)"),
        ({"sample_weight": np.full(6, np.nan)}, ValueError, "sample_weight contains NaN"),
        ({"ids": [1, 2, 3, 4, 5, 5]}, ValueError, "5 more than once"),
        ({"ids": [1, 2, 3]}, ValueError, "3 ids for 6 rows"),
        ({"ids": [100, 101, 102, 103, 104, 59]}, ValueError, "Duplicate id 59"),
        ({"ids": list("abcdef")}, TypeError, "ids must be integers"),
    ],
    ids=str,
)
def test_bad_input_is_refused_and_changes_nothing(learner, args, error, words):
    before = bits(learner)
    with pytest.raises(error, match=words):
        learner.partial_fit(**({"X": X, "y": Y} | args))
    assert bits(learner) == before


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "args",
    [
        {"X": NAN},
        {"X": X[:5]},
        {"X": X[:0], "y": Y[:0]},
        {"y": Y + 0.5},
        {"y": np.array(["a", "b", None] * 2, dtype=object)},
        {"sample_weight": -np.ones(6)},
        {"sample_weight": np.ones(5)},
    ],
    ids=str,
)
def test_a_first_call_that_is_refused_leaves_nothing(learner, args, method):
    fresh, before = AdaptiveSVM(experts=SVMS), bits(learner)
    known = dict(vars(fresh))
    for each in (fresh, learner):
        with pytest.raises((ValueError, TypeError)):
            getattr(each, method)(**({"X": X, "y": Y} | args))
    assert vars(fresh) == known
    assert bits(learner) == before


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"max_rows": 1}, ValueError, "'max_rows' .* must be an integer from 2 .*got 1"),
        ({"max_rows": 10.5}, ValueError, "'max_rows'.*got 10.5"),
        ({"fading_factor": 1.5}, ValueError, "'fading_factor' .* must be a number from 0 to 1, got 1.5"),
        ({"fading_factor": "x"}, ValueError, "'fading_factor'.*got 'x'"),
        ({"learning_rate": -1}, ValueError, "'learning_rate'.*got -1"),
        ({"fixed_share": float("nan")}, ValueError, "'fixed_share'.*got nan"),
        ({"scaling": "minmax"}, ValueError, "'scaling' .* one of 'standard', 'none', got 'minmax'"),
        ({"class_weight": "equal"}, ValueError, "'class_weight'.*got 'equal'"),
        ({"class_weight": {0: -1.0}}, ValueError, "class_weight must map .* got -1.0 for 0"),
        ({"class_weight": {0: "2"}}, ValueError, "class_weight must map .* got '2' for 0"),
        ({"experts": "all"}, ValueError, "experts must be 'auto' or a list of Expert, got 'all'"),
        ({"experts": []}, ValueError, "at least one Expert"),
        ({"experts": 7}, TypeError, "experts must be 'auto' or a list of Expert, got 7"),
        ({"experts": GaussianNB()}, TypeError, r"list of Expert, got GaussianNB\(\)"),
        ({"experts": iter(SVMS)}, TypeError, "list of Expert, got <"),
        ({"experts": [Expert("poly")]}, ValueError, "kernel of an Expert must be one of .*got 'poly'"),
        ({"experts": [Expert(C=0)]}, ValueError, "C of an Expert must be .*got 0"),
        ({"experts": [Expert(gamma=-1)]}, ValueError, "gamma of an Expert must be .*got -1"),
        ({"experts": [Expert(window=1)]}, ValueError, "window of an Expert must be .*got 1"),
        (
            {"experts": [Expert(estimator=LinearRegression())]},
            TypeError,
            "estimator .* classifier .*LinearRegr",
        ),
        ({"experts": [GaussianNB]}, TypeError, "an instance"),
        ({"experts": [5]}, TypeError, "estimator of an Expert must be .*got 5"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(learner, params, error, words):
    A, b = blobs(30, 3)
    for method in ("fit", "partial_fit"):
        fresh = AdaptiveSVM(**params)
        known = dict(vars(fresh))
        with pytest.raises(error, match=words):
            getattr(fresh, method)(A, b)
        assert vars(fresh) == known
    before, good = bits(learner), learner.get_params(deep=False)
    learner.set_params(**params)
    for call in (lambda: learner.partial_fit(X, Y), lambda: learner.forget([59]), lambda: learner.fit(X, Y)):
        with pytest.raises(error, match=words):
            call()
    assert bits(learner.set_params(**good)) == before


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        ([59, 1000], ValueError, "keeps no row with the id 1000"),
        ([0], ValueError, "keeps no row with the id 0: the row was forgotten or dropped"),
        ([59, 59], ValueError, "59 more than once"),
        ([1.5], TypeError, "ids must be integers"),
        ([[59]], TypeError, "one dimension"),
        ("59", TypeError, "ids must be integers"),
    ],
)
def test_ids_that_cannot_be_forgotten(learner, ids, error, words):
    before = bits(learner)
    with pytest.raises(error, match=words):
        learner.forget(ids)
    assert bits(learner) == before
    assert bits(learner.forget([])) == before


def test_a_table_of_one_class_is_refused():
    A, b = blobs(20)
    with pytest.raises(ValueError, match="y has 1 class"):
        AdaptiveSVM().fit(A, np.zeros(20, int))
    with pytest.raises(ValueError, match="one class have a weight above 0"):
        AdaptiveSVM().fit(A, b, sample_weight=b.astype(float))
    with pytest.raises(ValueError, match="not in class_weight"):
        AdaptiveSVM(class_weight={7: 2.0}).fit(A, b)


def test_nothing_can_be_asked_of_an_unfitted_learner():
    fresh = AdaptiveSVM()
    for method in ("predict", "decision_function", "predict_proba", "forget"):
        with pytest.raises(NotFittedError):
            getattr(fresh, method)(X)
    for name in ("weights_", "experts_", "ids_", "n_kept_", "support_"):
        with pytest.raises(AttributeError, match="not fitted yet"):
            getattr(fresh, name)


def test_rows_beyond_the_range_of_a_kernel_cannot_be_asked_about(learner):
    with pytest.raises(ValueError, match="squared length inf"):
        learner.predict(HUGE)


def test_running_numbers_beyond_64_bits_are_refused(learner):
    learner.partial_fit(X[:1], Y[:1], ids=[2**63 - 1])
    before = bits(learner)
    with pytest.raises(ValueError, match="give ids"):
        learner.partial_fit(X, Y)
    assert bits(learner) == before
    assert learner.partial_fit(X, Y, ids=np.arange(-6, 0)).ids_[-1] == -1


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
