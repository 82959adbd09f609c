"""What the never-ending learner promises while it runs: questions, bounds, drift, scale, schema."""

from datetime import datetime, timezone

import numpy as np
import pytest
from scipy import sparse

from everlearn import IDSVM, LASVMNC, Exemplars, KernelPerceptron, StreamS3VM, query
from everlearn.errors import CoreError
from everlearn.evaluate import DriftDetector
from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import answer, bits, drop, opened, unchanged, xor

X, Y = xor(600)


def batches(size=50, n=600):
    return [slice(start, start + size) for start in range(0, n, size)]


# ------------------------------------------------------------------------------------------------ questions


@pytest.mark.parametrize("strategy", ["margin", "random", query.AutoMargin(), query.RecentMargin()], ids=repr)
@pytest.mark.parametrize(
    ("rate", "budget", "audit"), [(0.1, None, 0.25), (0.3, 40, 0.5), (0.05, 0, 0.1), (1, 90, 1)]
)
def test_rate_budget_and_audit_hold_at_all_times(strategy, rate, budget, audit):
    asked_before, answers = set(), 0
    with opened(query_strategy=strategy, label_rate=rate, label_budget=budget, audit=audit) as learner:
        for number, batch in enumerate(batches(size=20)):
            out = learner.step(X[batch])
            asking = learner._state.questions
            rows = (number + 1) * 20
            limit = min(int(rate * rows), rows if budget is None else budget)
            assert asking.n_asked <= limit
            assert asking.n_asked == limit or rate == 1  # nor fewer, while there are rows enough
            assert abs(asking.n_audits - audit * asking.n_asked) <= 1
            ids = [question.id for question in out.questions]
            assert len(set(ids)) == len(ids)
            assert not set(ids) & asked_before
            asked_before |= set(ids)
            assert all(question.reason and question.id == question.number for question in out.questions)
            assert all(question.kind in ("strategy", "audit", "cold_start") for question in out.questions)
            assert set(asking.open) == {q.id for q in learner.ask(len(asking.open))}
            if number % 3:
                answers += answer(learner, Y)
                assert learner.status()["open_questions"] == 0
        assert learner.status()["asked"] == learner._state.questions.n_asked
        assert learner._state.questions.n_answered == answers == learner.status()["labels"]


def test_asking_on_top_is_within_the_budget_and_slows_down_what_comes_after():
    with opened(label_rate=0.1, label_budget=50) as learner:
        learner.step(X[:100], Y[:100])
        learner.step(X[100:200])
        assert learner.status()["asked"] == 20
        more = learner.ask(35)
        assert len({question.id for question in more}) == 35 == learner.status()["asked"]
        assert {question.id for question in more} <= set(range(100, 200))
        assert [q.id for q in learner.ask(5)] == [q.id for q in learner.ask(35)][:5]  # the newest first
        learner.step(X[200:300])
        assert learner.status()["asked"] == 35
        assert len(learner.ask(500)) == learner.status()["asked"] == 50
        assert learner.ask(0) == []


@pytest.mark.parametrize("labeled_share", [0.0, 0.5])
def test_the_audit_share_holds_where_there_are_fewer_rows_than_questions(labeled_share):
    with opened(label_rate=1.0, audit=0.1, memory_rows=2000) as learner:
        for start in range(0, 600, 300):
            y = np.where(np.arange(300) < 300 * labeled_share, Y[start : start + 300], -1)
            learner.step(X[start : start + 300], [None if label < 0 else label for label in y.tolist()])
            asking = learner._state.questions
            assert abs(asking.n_audits - 0.1 * asking.n_asked) <= 1


def test_a_query_of_none_never_asks():
    with opened(query_strategy=None, label_rate=1.0) as learner:
        assert learner.step(X).questions == []
        assert learner.ask(5) == []


def test_a_question_that_is_answered_leaves_and_is_remembered_with_its_answer():
    with opened(label_rate=0.1) as learner:
        asked = learner.step(X[:100]).questions
        assert {question.kind for question in asked} == {"audit", "cold_start"}
        learner.label([asked[0].id], [1])
        assert learner.status()["open_questions"] == len(asked) - 1
        (told,) = [q for q in learner.report_data()["questions"] if q["id"] == asked[0].id]
        assert (told["label"], told["answered_row"]) == (1, 100)
        assert asked[0].id not in {question.id for question in learner.ask(len(asked) - 1)}


# ---------------------------------------------------------------------------------------- bounds and looking


@pytest.mark.parametrize("exemplars", [None, Exemplars()], ids=repr)
@pytest.mark.parametrize("memory_rows", [1, 7, 60])
def test_memory_is_bounded(memory_rows, exemplars):
    with opened(memory_rows=memory_rows, exemplars=exemplars, label_rate=0.3) as learner:
        for number, batch in enumerate(batches()):
            learner.step(X[batch], Y[batch] if number % 2 else None)
            answer(learner, Y)
            fold = learner._state
            assert max(len(fold.pool), len(fold.labeled)) <= memory_rows
            assert fold.pool.X.shape[0] == len(fold.pool)
            assert learner.status()["kept_rows"] <= 2 * memory_rows
            assert not set(fold.pool.numbers.tolist()) & set(fold.labeled.numbers.tolist())


def test_looking_changes_nothing():
    with opened(drift="adwin") as learner:
        for batch in batches():
            learner.step(X[batch], Y[batch])
        with unchanged(learner):
            first = learner.predict(X), learner.decision_function(X)
            for _ in range(2):
                status, story = learner.status(), learner.report_data(title="once")
                status["classes"].append("x")
                status["drift_alarms"].append({})
                story["questions"].clear()
                learner.ask(learner.status()["open_questions"])
                assert learner.predict(sparse.csr_matrix(X)).tolist() == first[0].tolist()
                np.testing.assert_allclose(learner.decision_function(X), first[1], atol=0)
            assert learner.learner_ is not None
            assert learner.mean_.shape == (2,)


def test_one_class_for_long_then_another_then_a_third():
    with opened(label_rate=0.0) as learner:
        for batch in batches(n=300):
            out = learner.step(X[batch], np.zeros(50, dtype=int))
            assert out.predictions.tolist() == [None] * 50
        learner.step(X[300:350], Y[300:350] + 1)
        assert set(learner.predict(X)) <= {0, 1, 2}
        learner.label([0], [-7])
        assert learner.status()["classes"] == [-7, 0, 1, 2]
        assert learner.decision_function(X).shape == (600, 4)
        learner.step(X[350:])


@pytest.mark.parametrize("kind", [str, bool, int, lambda label: f"class {label} \0é"])
def test_labels_of_every_kind(kind, tmp_path):
    labels = [kind(label) for label in Y.tolist()]
    with opened(tmp_path / "store") as learner:
        learner.step(X[:300], labels[:300])
        learner.step(X[300:], np.array(labels[300:], dtype=object))
        predictions, state = learner.predict(X).tolist(), bits(learner)
        assert {type(label) for label in predictions} == {type(labels[0])}
        assert np.mean([a == b for a, b in zip(predictions, labels, strict=True)]) > 0.85
    with NeverEndingLearner.open(tmp_path / "store") as learner:
        assert bits(learner) == state
        assert learner.predict(X).tolist() == predictions


def test_labels_in_a_column_with_gaps_are_the_same_as_integers():
    with opened() as gaps, opened() as plain:
        column = np.where(np.arange(600) % 3 == 0, Y, np.nan)
        gaps.step(X, column, time=0.0)
        plain.step(X, [int(v) if v == v else None for v in column], time=0.0)
        assert bits(gaps) == bits(plain)


# ----------------------------------------------------------------------------------------- drift and the rest


def drifting(learner):
    """A stream whose colors are swapped half-way; the accuracy on the last rows."""
    rows, colors = xor(1200, seed=3)
    colors[600:] = 1 - colors[600:]
    for batch in batches(n=1200):
        out = learner.step(rows[batch], colors[batch], time=float(batch.start))
        policy = learner._state.drift.policy
        if out.drift_detected:  # what the learner knows, and what there is to begin anew with
            assert (learner.learner_._rows_seen <= 100) == (policy != "alarm")
            assert (len(learner._state.labeled) <= 100) == (policy == "forget")
    return np.mean(learner.predict(rows[1000:]) == colors[1000:]), rows


@pytest.mark.parametrize("policy", ["alarm", "restart", "forget"])
def test_an_abrupt_drift_is_noticed_and_survives_reopening(tmp_path, policy):
    place = tmp_path / "store"
    with opened(
        place, drift=DriftDetector("adwin", policy=policy), memory_rows=300, snapshot_every=200
    ) as learner:
        accuracy, rows = drifting(learner)
        alarms = learner.status()["drift_alarms"]
        assert alarms
        assert 600 < alarms[0]["row"] <= 800
        assert alarms[0]["time"] == alarms[0]["row"] - 50
        shown = datetime.fromtimestamp(alarms[0]["time"], timezone.utc)
        assert learner.report_data()["drift"][0]["time"] == shown.isoformat(timespec="seconds")
        assert {alarm["policy"] for alarm in alarms} == {policy}
        assert accuracy > (0.85 if policy != "alarm" else 0.0)
        state = bits(learner)
        drop(learner)
    with NeverEndingLearner.open(place) as learner:
        assert bits(learner) == state
        learner.step(rows[:50], time=0.0)
        after = bits(learner)
    with NeverEndingLearner.replay(place) as replayed:
        assert bits(replayed) == after


def test_without_drift_there_is_no_alarm():
    with opened(drift="adwin") as learner:
        for batch in batches():
            assert not learner.step(X[batch], Y[batch]).drift_detected
        assert learner.status()["drift_alarms"] == []


@pytest.mark.parametrize(
    "parts",
    [
        {"semi_supervised": StreamS3VM(memory_rows=300)},
        {"exemplars": Exemplars()},
        {"semi_supervised": StreamS3VM(memory_rows=300), "exemplars": Exemplars(), "drift": "adwin"},
        {"learner": KernelPerceptron()},
        {"learner": LASVMNC(C=10), "scaling": "none"},
        {"learner": IDSVM(C=10), "classes": [0, 1, 2]},
        {"scale_features": [True, False], "query_strategy": query.RecentMargin()},
    ],
    ids=lambda parts: ", ".join(map(str, parts)),
)
@pytest.mark.parametrize("shape", [np.asarray, sparse.csr_matrix])
def test_parts_survive_a_crash_and_a_close_bit_for_bit(tmp_path, parts, shape):
    place = tmp_path / "store"
    learner, calm = (opened(where, snapshot_every=60, **parts) for where in (place, ":memory:"))
    for number, batch in enumerate(batches(size=40, n=280)):
        y = [int(Y[i]) if i % 10 == 0 else None for i in range(batch.start, batch.stop)]
        outs = [store.step(shape(X[batch]), y, time=0.0) for store in (learner, calm)]
        assert outs[0].predictions.tolist() == outs[1].predictions.tolist()
        assert repr(outs[0].questions) == repr(outs[1].questions)  # NaN is not NaN
        for store in (learner, calm):
            answer(store, Y)
        if number % 3 == 2:
            drop(learner) if number == 2 else learner.close()
            learner = NeverEndingLearner.open(place, snapshot_every=60)
            assert bits(learner) == bits(calm)
    assert np.mean(learner.predict(shape(X)) == Y) > 0.6
    learner.close()
    calm.close()


def test_more_late_labels_than_an_s3vm_takes_at_once_wait_for_their_turn():
    with opened(semi_supervised=StreamS3VM(memory_rows=100), memory_rows=200, query_strategy=None) as learner:
        for batch in batches(size=40, n=160):
            learner.step(X[batch], Y[batch] if batch.start == 0 else None)
        learner.label(range(40, 100), Y[40:100])
        waiting = [len(learner._state.late)]
        for batch in batches(size=20, n=60):
            learner.step(X[batch])
            waiting.append(len(learner._state.late))
        assert waiting == [60, 30, 0, 0]
        learner.label(range(100, 160), Y[100:160])
        with unchanged(learner), pytest.raises(ValueError, match="pass smaller batches"):
            learner.step(X[:51])
        learner.step(X[:50])


def spread_of(rows, shape):
    """By what columns are divided: those of sparse rows only if their spread is above 1."""
    spread = rows.std(axis=0)
    return spread if shape is np.asarray else np.maximum(spread, 1.0)


@pytest.mark.parametrize("shape", [np.asarray, sparse.csr_matrix])
def test_the_scale_follows_the_first_rows(shape):
    """A column that starts constant but for noise, as a clock does, has the scale of all rows in the end."""
    rows = np.column_stack([X[:, 0], np.arange(len(X)) * 1e-3])[:400]
    with opened() as learner:
        at = []
        for start in range(0, 400, 20):
            learner.step(shape(rows[start : start + 20]))
            at.append(learner._state.scaled_at)
            seen = rows[: at[-1]]
            mean = seen.mean(axis=0) if shape is np.asarray else [0.0, 0.0]
            np.testing.assert_allclose(learner.mean_, mean, atol=1e-9)
            np.testing.assert_allclose(learner.scale_, spread_of(seen, shape), rtol=1e-9)
        assert sorted(set(at)) == [20, 40, 80, 160, 320]
    with opened(scaling="none") as learner:
        learner.step(rows)
        assert (learner.mean_, learner.scale_) == (None, None)


def test_rows_are_drawn_until_enough_questions_are_answered():
    with opened(cold_start_labels=30, audit=0.0) as learner:
        kinds = []
        for batch in batches(size=50):
            answered = learner.status()["asked"] - learner.status()["open_questions"]
            out = learner.step(X[batch])
            kinds += [(question.kind, answered) for question in out.questions]
            answer(learner, Y, out.questions)
        assert {kind for kind, answered in kinds if answered < 30} == {"cold_start"}
        assert {kind for kind, answered in kinds if answered >= 30} == {"strategy"}


@pytest.mark.parametrize("policy", ["restart", "forget"])
def test_after_drift_a_rare_class_is_not_forgotten(policy):
    """The last hundred labels are all of one class: then it begins anew with more of them."""
    rare = np.where(np.arange(400) % 150 == 149, 1, 0)
    drift = DriftDetector("page-hinkley", policy=policy, min_instances=5, threshold=0.5, delta=0.0)
    with opened(drift=drift, memory_rows=400, query_strategy=None, window=50) as learner:
        for start in range(0, 400, 10):
            learner.step(X[start : start + 10], rare[start : start + 10])
            if start >= 150:
                assert learner.learner_ is not None
        assert learner.status()["drift_alarms"]


@pytest.mark.parametrize("shape", [np.asarray, sparse.csr_matrix])
def test_the_scale_can_be_fixed_anew(tmp_path, shape):
    place = tmp_path / "store"
    moved = X * [1000.0, 0.001] + [50.0, 3.0] if shape is np.asarray else X * [1000.0, 3.0]
    with opened(place, memory_rows=300) as learner:
        learner.step(shape(X[:100]), Y[:100], time=0.0)
        for batch in batches(n=300):
            learner.step(shape(moved[batch]), [label if i % 2 else None for i, label in enumerate(Y[batch])])
        learner.label([0], [1 - Y[0]])
        learner.rescale()
        mean, spread = learner.mean_, learner.scale_
        everything = np.vstack([X[:100], moved[:300]])
        for kept in (learner._state.pool, learner._state.labeled):
            raw = kept.X.toarray() if sparse.issparse(kept.X) else kept.X
            np.testing.assert_allclose(raw * spread + mean, everything[kept.numbers], rtol=1e-9, atol=1e-9)
        kept = everything[learner._state.pool.numbers]
        np.testing.assert_allclose(spread, spread_of(kept, shape), rtol=1e-6)
        found = learner.predict(shape(moved[300:]))
        state = bits(learner)
        drop(learner)
    with NeverEndingLearner.open(place) as learner:
        assert bits(learner) == state
        assert learner.predict(shape(moved[300:])).tolist() == found.tolist()
        learner.step(shape(moved[300:]), Y[300:], time=0.0)
        assert np.mean(learner.predict(shape(moved)) == Y) > 0.8
        learner.label([250], [1 - Y[250]])
        learner.withdraw([250, 399])
        state = bits(learner)
    with NeverEndingLearner.replay(place) as replayed:
        assert bits(replayed) == state


def test_a_row_is_the_same_dense_or_sparse():
    for first in (np.asarray, sparse.csr_matrix):
        with opened() as learner:
            learner.step(first(X[:100] + 5), Y[:100])
            dense, thin = (
                learner.decision_function(shape(X + 5)) for shape in (np.asarray, sparse.csr_matrix)
            )
            np.testing.assert_allclose(dense, thin, atol=1e-9)


def test_a_schema_is_an_event_and_the_callers_dict_stays_the_callers():
    with opened() as learner:
        schema = {"columns": ["a", "b"]}
        learner.set_schema(schema)
        learner.set_schema({"columns": ["a", "b"]})
        assert learner.status()["events"] == 1
        schema["columns"].append("c")
        learner.status()["schema"]["columns"].append("d")
        assert learner.status()["schema"] == {"columns": ["a", "b"]}
        learner.set_schema(schema)
        assert learner.status()["events"] == 2
        with unchanged(learner), pytest.raises(TypeError):
            learner.set_schema({"columns": object()})


def test_a_learner_that_fails_is_left_as_it_was_and_the_stream_goes_on(monkeypatch):
    with opened(learner=IDSVM(C=10, gamma=0.5), memory_rows=200) as learner:
        learner.step(X[:50], Y[:50])
        before = learner.decision_function(X)
        learn = IDSVM.partial_fit

        def fail(*args, **kwargs):
            raise CoreError("no solution")

        monkeypatch.setattr(IDSVM, "partial_fit", fail)
        learner.step(X[50:60], Y[50:60])
        assert learner.status()["failures"] == 1
        assert learner.status()["labels"] == 60
        assert "labels were skipped" in learner.report_data()["notes"][0]
        np.testing.assert_array_equal(learner.decision_function(X), before)
        monkeypatch.setattr(IDSVM, "partial_fit", learn)
        learner.step(X[60:70], Y[60:70])
        assert len(learner.learner_._machine.native.ids) == 60
        assert learner.status()["failures"] == 1


def test_the_story_has_what_it_costs():
    with opened() as learner:
        for batch in batches():
            learner.step(X[batch], Y[batch])
        steps = learner.report_data()["curves"]
        assert len(steps["rows"]) == len(steps["seconds"]) == len(steps["memory_mb"])
        assert np.all(np.diff(steps["seconds"]) >= 0)
        assert 0 < steps["seconds"][-1] <= learner.report_data()["totals"]["seconds"]
        assert min(steps["memory_mb"]) > 10
