"""learn_stream: what it refuses, with the message, and what it leaves unchanged then."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from everlearn import LASVM
from everlearn.query import All, RampRegion, RecentMargin, learn_stream
from query.query_helpers import Given, Notes, in_ramp, plain_loop, what_is_learned
from svm.lasvm_helpers import (
    assert_same,
    assert_same_model,
    two_clouds,
)

MODELS = {
    "LASVM": LASVM(C=2, gamma=0.3),
    "LASVM, linear": LASVM(kernel="linear"),
    "SGDClassifier": SGDClassifier(alpha=0.01, learning_rate="constant", eta0=0.1, random_state=0),
    "SGDClassifier, averaged": SGDClassifier(alpha=0.1, average=True, random_state=0),
}
X, Y = two_clouds(60)


def refused(words, model=None, strategy=None, X=X, oracle=Y, error=ValueError, **options):
    """Refused with these words, before anything is learned."""
    model = LASVM(gamma=0.3) if model is None else model
    before = deepcopy(vars(model)) if not isinstance(model, type) else None
    with pytest.raises(error, match=words):
        learn_stream(model, strategy or RampRegion(), X, oracle, **options)
    assert isinstance(model, type) or vars(model) == before


@pytest.mark.parametrize("strategy", [RampRegion, "ramp", LASVM(), lambda model, X: [0]])
def test_a_strategy_that_is_none(strategy):
    refused(
        "query_strategy must be a query strategy for streams, such as RampRegion",
        strategy=strategy,
        error=TypeError,
    )


@pytest.mark.parametrize("model", [SVC(), LASVM, Given()])
def test_a_model_that_cannot_go_on_learning(model):
    refused("model must be an instance with partial_fit", model=model, error=TypeError)


def test_a_model_without_scores_is_refused_when_it_is_looked_at():
    with pytest.raises(TypeError, match="GaussianNB has no decision_function"):
        learn_stream(GaussianNB(), RampRegion(), X, Y)


@pytest.mark.parametrize("strategy", [RampRegion(s=1), RecentMargin(block_size=0)], ids=repr)
def test_a_strategy_with_bad_parameters(strategy):
    refused("The parameter '(s|block_size)' of .* must be", strategy=strategy)


@pytest.mark.parametrize("strategy", [All(), RampRegion()], ids=repr)
def test_no_rows(strategy):
    refused("X has no rows", strategy=strategy, X=X[:0], oracle=Y[:0])
    refused(r"X must be two-dimensional, got shape \(60,\)", strategy=strategy, X=X[:, 0])
    refused(r"X must be two-dimensional, got shape \(60,\)", strategy=strategy, X=X[:, 0].tolist())


@pytest.mark.parametrize("oracle", [Y[:-1], Y[:, np.newaxis], 3, [], "yes"])
def test_labels_that_do_not_fit_the_rows(oracle):
    refused(r"oracle must be a function, or one label for each of the 60 rows of X, got", oracle=oracle)


def test_a_function_needs_classes():
    refused("classes is required, with all labels that can occur", oracle=lambda numbers, rows: Y[numbers])


@pytest.mark.parametrize(
    "oracle",
    [np.where(Y == 1, np.nan, 0), [None, "a", "b"] * 20, [float("nan"), 1] * 30, [1, "a"] * 30],
)
def test_missing_labels_are_no_class(oracle):
    labels = np.asarray(oracle, dtype=None if isinstance(oracle, np.ndarray) else object)
    refused("The classes cannot be read from oracle, which has missing labels", oracle=labels)


@pytest.mark.parametrize("answer", [0, [], [0, 1], [[0]]])
def test_a_function_that_does_not_answer_what_it_is_asked(answer):
    words = "oracle must return one label for each row: it got 1 rows and returned shape"
    refused(words, oracle=lambda numbers, rows: answer, classes=[0, 1])


def test_an_error_of_the_oracle_comes_through():
    def oracle(numbers, rows):
        raise KeyError("nobody is there")

    refused("nobody is there", oracle=oracle, classes=[0, 1], error=KeyError)


def test_a_label_that_was_not_announced():
    refused("labels that are not in classes: 7", oracle=lambda numbers, rows: [7], classes=[0, 1])


def test_classes_that_are_not_those_of_the_model():
    model = LASVM(gamma=0.3).partial_fit(X[:20], Y[:20], classes=[0, 1])
    with pytest.raises(ValueError, match="differs from the classes of the first call"):
        learn_stream(model, RecentMargin(), X, Y, classes=[0, 1, 2])


def test_a_precomputed_kernel_cannot_leave_rows_out():
    K = X @ X.T
    for strategy in (RampRegion(), RecentMargin()):
        refused("pass the kernel as a callable", model=LASVM(kernel="precomputed"), strategy=strategy, X=K)
    model, plain = LASVM(kernel="precomputed", C=0.1), LASVM(kernel="precomputed", C=0.1)
    learn_stream(model, All(), K, Y)
    plain.partial_fit(K[:1], Y[:1], classes=[0, 1]).partial_fit(K[1:], Y[1:])
    assert_same_model(model, plain)


@pytest.mark.parametrize("name", ["LASVM", "SGDClassifier"])
def test_a_bad_row_stops_the_stream_at_its_turn(name):
    X, y = two_clouds(400, apart=3.0)
    X[390] = np.nan
    plain, model, notes = clone(MODELS[name]), clone(MODELS[name]), Notes(y)
    with pytest.raises(ValueError, match="NaN"):
        plain_loop(plain, in_ramp, 1, X, y, [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        learn_stream(model, RampRegion(), X, notes, classes=[0, 1])
    assert max(notes.numbers) < 390
    assert_same(what_is_learned(model), what_is_learned(plain))
