"""Outcome: predictions, probabilities, prediction sets and questions of a batch."""

import numpy as np
import pytest
from scipy import sparse

from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import follow, opened, stripes, three_blobs, unchanged, xor


@pytest.mark.parametrize("strategy", ["auto", "margin", "random"])
def test_questions_are_about_the_rows_of_the_batch(strategy):
    X, y = stripes(2000)
    with NeverEndingLearner.open(
        ":memory:", query_strategy=strategy, label_rate=0.05, random_state=0
    ) as learner:
        _, asked = follow(learner, X, y)
    assert sum(map(len, asked)) == 100
    for batch, questions in enumerate(asked):
        assert all(100 * batch <= q.number < 100 * (batch + 1) for q in questions)


@pytest.mark.parametrize("rows", [lambda X: X, sparse.csr_matrix], ids=["dense", "sparse"])
def test_probabilities_fit_the_predictions_and_the_labels(rows):
    X, y = three_blobs(4000)
    with NeverEndingLearner.open(":memory:", label_rate=0.1, random_state=0) as learner:
        follow(learner, rows(X[:3300]), y)
        out = learner.step(rows(X[3300:]))
        assert out.probabilities.shape == (700, 3)
        assert learner.status()["classes"] == ["a", "b", "c"]
        np.testing.assert_allclose(out.probabilities.sum(axis=1), 1.0)
        names = np.array(["a", "b", "c"], dtype=object)
        assert (names[out.probabilities.argmax(axis=1)] == out.predictions).mean() > 0.999
        np.testing.assert_array_equal(learner.predict_proba(rows(X[3300:])), out.probabilities)
    truth = np.array([list("abc").index(label) for label in y[3300:]])
    right = out.probabilities[np.arange(700), truth]
    confidence = out.probabilities.max(axis=1)
    accuracy = (out.probabilities.argmax(axis=1) == truth).mean()
    assert abs(confidence.mean() - accuracy) < 0.05
    assert right.mean() > 0.6


def test_there_are_no_probabilities_before_two_classes():
    X, _ = stripes(50)
    with NeverEndingLearner.open(":memory:", random_state=0) as learner:
        assert learner.step(X).probabilities is None
        assert learner.predict_proba(X) is None


def test_prediction_sets_keep_their_coverage_under_drift():
    X, y = three_blobs(9000, noise=1.4)
    y[4500:] = np.array([{"a": "b", "b": "c", "c": "a"}[label] for label in y[4500:]], dtype=object)
    inside, sizes = [], []
    with NeverEndingLearner.open(
        ":memory:", label_rate=0.2, audit=0.5, coverage=0.9, random_state=0
    ) as learner:
        for start in range(0, 9000, 100):
            out = learner.step(X[start : start + 100])
            learner.label([q.id for q in out.questions], [y[q.id] for q in out.questions])
            if out.prediction_sets is not None:
                inside += [y[start + i] in found for i, found in enumerate(out.prediction_sets)]
                sizes += [len(found) for found in out.prediction_sets]
        assert learner.predict_set(X[:2]) is not None
        assert abs(learner.status()["coverage"] - 0.9) < 0.02
    assert abs(np.mean(inside) - 0.9) < 0.04
    assert np.mean(sizes) < 2.0


def test_sets_need_a_promise():
    X, y = stripes(50)
    with NeverEndingLearner.open(":memory:", random_state=0) as learner:
        learner.step(X, y)
        assert learner.step(X).prediction_sets is None
        with unchanged(learner), pytest.raises(ValueError, match=r"coverage=0\.9"):
            learner.predict_set(X)
    with pytest.raises(ValueError, match=r"coverage must be .* got 1"):
        NeverEndingLearner.open(":memory:", coverage=1)


def test_predictions_come_before_the_labels_that_come_with_the_rows():
    X, y = xor(200)
    with opened() as learner:
        first = learner.step(X[:50], y[:50], ids=range(7, 57))
        assert first.predictions.tolist() == [None] * 50
        assert first.decision_values is None
        assert first.ids == list(range(7, 57))
        for start in range(50, 200, 50):
            batch = slice(start, start + 50)
            expected, scores = learner.predict(X[batch]), learner.decision_function(X[batch])
            out = learner.step(X[batch], 1 - y[batch], ids=range(1000 + start, 1050 + start))
            assert out.predictions.tolist() == expected.tolist()
            assert out.decision_values.tobytes() == scores.tobytes()


def test_scores_and_alarms_are_those_of_the_status():
    X, y = xor(300)
    with opened() as learner:
        for start in range(0, 300, 50):
            out = learner.step(X[start : start + 50], y[start : start + 50])
            np.testing.assert_equal(out.scores, learner.status()["scores"]["window"])
            assert out.drift_detected is False
        assert {"accuracy", "g_means", "mcc", "auc"} <= set(out.scores)


def test_an_outcome_cannot_be_changed():
    with opened() as learner:
        out = learner.step(*xor(50))
    with pytest.raises(AttributeError):
        out.questions = []
