"""What a report is told: every scored row, random rows apart, and what drives the predictions."""

import numpy as np
import pytest
from scipy import sparse

from everlearn import IDSVM, LASVM, OPAUC, AdaptiveSVM
from everlearn.report import render
from stream.stream_helpers import opened, xor


def test_labels_that_come_with_the_rows_have_a_confusion_matrix_from_the_first_scored_row():
    X, y = xor(40)
    with opened(learner=LASVM(C=10, gamma=1.0), classes=[0, 1]) as learner:
        for start in range(0, 40, 10):
            learner.step(X[start : start + 10], y[start : start + 10])
        data = learner.report_data()
        scored = learner.status()["scores"]["total"]
    assert scored["n"] == 30  # the first batch came before there was a model
    assert np.sum([part["matrix"] for part in data["confusion"]]) == 30
    assert data["window"] == 30
    assert data["random_rows"]["drawn"] == "given"
    assert np.trace(data["random_rows"]["matrix"]) == round(30 * scored["accuracy"])
    known = np.isfinite(data["curves"]["accuracy"])
    assert np.flatnonzero(known)[0] == 1


def test_answers_after_the_last_batch_are_in_the_curves():
    X, y = xor(300)
    with opened(label_rate=0.2, cold_start_labels=5, random_state=0) as learner:
        for start in range(0, 300, 50):
            out = learner.step(X[start : start + 50])
            ids = [question.id for question in out.questions]
            learner.label(ids, [int(y[i]) for i in ids])
        data = learner.report_data()
    assert data["curves"]["labels"][-1] == data["totals"]["labels"] == 60
    assert data["curves"]["rows"] == [50, 100, 150, 200, 250, 300]
    assert data["random_rows"]["drawn"] == "audit"
    audits = [q for q in data["questions"] if q["kind"] == "audit" and q["predicted"] is not None]
    assert np.sum(data["random_rows"]["matrix"]) == len(audits) > 0
    n_scored = np.sum([part["matrix"] for part in data["confusion"]])
    assert n_scored == sum(q["predicted"] is not None for q in data["questions"]) == data["window"]


def test_a_row_that_came_before_the_model_is_scored_by_the_prediction_of_its_question():
    X, y = xor(200)
    with opened(label_rate=0.1, cold_start_labels=5, random_state=0) as learner:
        out = learner.step(X)
        ids = [question.id for question in out.questions]
        learner.label(ids, [int(y[i]) for i in ids])
        assert learner.status()["scores"]["total"]["n"] == 0
        more = learner.ask(10)
        assert all(question.predicted is not None for question in more)
        assert any(
            question.kind == "audit" for question in more
        )  # random rows are also asked without a batch
        learner.label([q.id for q in more], [int(y[q.id]) for q in more])
        found = learner.status()["scores"]["total"]
    right = np.mean([question.predicted == y[question.id] for question in more])
    assert found["n"] == len(more)
    assert found["accuracy"] == pytest.approx(right)


def trained(learner, X, y, **settings):
    opening = opened(learner=learner, classes=sorted(set(y.tolist())), memory_rows=500, **settings)
    opening.step(X, y)
    return opening


@pytest.mark.parametrize("learner", [LASVM(gamma=1.0), AdaptiveSVM(), LASVM(kernel="linear")], ids=repr)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_the_field_that_decides_has_the_most_influence(learner, convert):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.where(X[:, 1] > 0, "up", "down")
    with trained(learner, convert(X), y) as opening:
        found = opening.influence()
        again = opening.influence()
    assert found == again
    assert found["sample"] == 150
    first, *others = found["fields"]
    assert (first["field"], first["toward"]) == ("column 1", "up")
    assert first["change"] > 2 * max(other["change"] for other in others)
    assert first["flips"] > 0.2


@pytest.mark.parametrize("learner", [LASVM(C=10, gamma=0.5), IDSVM(C=10, gamma=0.5), AdaptiveSVM()], ids=repr)
def test_a_wrong_label_is_among_the_rows_that_matter_most_and_looking_changes_nothing(learner):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    X[60], y[60] = [3.0, 0.0], 0
    with trained(learner, X, y) as opening:
        before = opening.decision_function(X)
        rows = opening.influence()["rows"]
        assert opening.decision_function(X).tobytes() == before.tobytes()
        render(opening.report_data(influence=opening.influence()))
    assert 60 in [row["id"] for row in rows[:3]]
    assert all(row["label"] == y[row["id"]] for row in rows)
    changes = [row["change"] for row in rows]
    assert changes == sorted(changes, reverse=True)


def test_without_a_model_or_without_kept_rows_there_is_less_to_tell():
    X, y = xor(50)
    with opened() as learner:
        assert learner.influence() == {}
        learner.step(X)
        assert learner.influence() == {}
    with trained(OPAUC(), X, y) as learner:
        found = learner.influence()
    assert found["rows"] == []
    assert len(found["fields"]) == 2


def test_only_columns_that_vary_are_measured_if_there_are_many():
    X = np.zeros((60, 500))
    X[:, 444] = np.arange(60) % 2
    with trained(LASVM(kernel="linear"), sparse.csr_matrix(X), X[:, 444].astype(int)) as learner:
        fields = learner.influence()["fields"]
    assert len(fields) == 60
    assert fields[0]["field"] == "column 444"
