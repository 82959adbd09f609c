"""Sharded learners: each shard is the never-ending learner of its rows; one status, one report, one model."""

import numpy as np
import pytest

from everlearn import LASVM, AdaptiveSVM, NeverEndingLearner, merge
from everlearn.errors import InputError, StoreError
from everlearn.report import render
from everlearn.stream import ShardedLearner
from everlearn.stream._shared import shard_of
from everlearn.stream.sharded import is_sharded
from stream.stream_helpers import xor

X, Y = xor(400)
X = X * [3.0, 0.1] + [5.0, 0.0]
KEYS = [f"customer {number % 37}" for number in range(400)]
LEARNER = LASVM(C=10, gamma=0.5)


def opened(folder, **options):
    return ShardedLearner.open(folder, LEARNER, random_state=0, **{"shards": 3, **options})


def feed(learner, n=400, labeled=True):
    for start in range(0, n, 50):
        part = slice(start, start + 50)
        learner.step(
            X[part], Y[part] if labeled else None, keys=KEYS[part], ids=list(range(start, start + 50))
        )


def test_a_key_is_always_in_the_same_shard():
    assert shard_of(["a", "b", "c", 7, "7", "é"], 5).tolist() == [3, 3, 0, 0, 0, 3]
    found = shard_of([f"key {n}" for n in range(10_000)], 8)
    assert np.bincount(found).min() > 1_100  # spread evenly


def test_each_shard_is_the_learner_of_its_rows(tmp_path):
    with opened(tmp_path / "s") as sharded:
        feed(sharded)
        places = sharded.shard_of(KEYS)
        scale = sharded.learners[0].mean_, sharded.learners[0].scale_
        assert np.allclose(scale[0], X[:50].mean(axis=0))
        assert np.allclose(scale[1], X[:50].std(axis=0))
        predicted = sharded.predict(X, keys=KEYS)
        for shard, learner in sharded.learners.items():
            with NeverEndingLearner.open(":memory:", LEARNER, random_state=0, scaling="none") as alone:
                alone.set_scale(*scale)
                for start in range(0, 400, 50):
                    at = start + np.flatnonzero(places[start : start + 50] == shard)
                    alone.step(X[at], Y[at], ids=at.tolist())
                assert alone.decision_function(X).tolist() == learner.decision_function(X).tolist()
                assert predicted[places == shard].tolist() == alone.predict(X[places == shard]).tolist()


def test_it_is_the_same_after_it_was_closed(tmp_path):
    with opened(tmp_path / "whole") as whole:
        feed(whole)
        expected = {shard: found.decision_function(X).tolist() for shard, found in whole.learners.items()}
    for start in range(0, 400, 50):
        with opened(tmp_path / "s", shards=3 if start == 0 else None) as sharded:
            part = slice(start, start + 50)
            sharded.step(X[part], Y[part], keys=KEYS[part], ids=list(range(start, start + 50)))
    with ShardedLearner.open(tmp_path / "s", read_only=True) as sharded:
        assert {s: found.decision_function(X).tolist() for s, found in sharded.learners.items()} == expected
        with pytest.raises(StoreError, match="read_only"):
            sharded.step(X[:2], keys=KEYS[:2])


def test_shards_may_be_open_in_several_places(tmp_path):
    with opened(tmp_path / "s", only=[0]) as one, opened(tmp_path / "s", only=[1, 2]) as others:
        mine = one.shard_of(KEYS) == 0
        one.step(X[mine], Y[mine], keys=[key for key, own in zip(KEYS, mine, strict=True) if own])
        others.step(X[~mine], Y[~mine], keys=[key for key, own in zip(KEYS, mine, strict=True) if not own])
        assert np.array_equal(one.learners[0].mean_, others.learners[1].mean_)  # the first sets the scale
        with pytest.raises(InputError, match="shard 0, which is not open here"):
            others.step(X[mine][:2], keys=np.array(KEYS)[mine][:2])
        with pytest.raises(StoreError, match="open in another process"):
            opened(tmp_path / "s", only=[0])
        with ShardedLearner.open(tmp_path / "s", read_only=True) as reader:
            assert reader.n_rows == 400


def test_the_merged_model_is_the_svm_of_all_rows(tmp_path):
    with opened(tmp_path / "s") as sharded:
        feed(sharded)
        before = [found.decision_function(X).tolist() for found in sharded.learners.values()]
        model = sharded.merged()
        after = [found.decision_function(X).tolist() for found in sharded.learners.values()]
        merged = merge([found.learner_ for found in sharded.learners.values()])
        mean, scale = sharded.learners[0].mean_, sharded.learners[0].scale_
    assert before == after
    scaled = (X - mean) / scale
    assert np.allclose(model.decision_function(X), merged.decision_function(scaled))
    central = LASVM(C=10, gamma=0.5).fit(scaled, Y)
    assert np.abs(model.decision_function(X) - central.decision_function(scaled)).max() < 0.02
    assert (model.predict(X) == central.predict(scaled)).mean() > 0.99


def test_one_status_and_one_report(tmp_path):
    with opened(tmp_path / "s", label_rate=0.1) as sharded:
        feed(sharded, 200)
        feed_more = slice(200, 400)
        sharded.step(X[feed_more], keys=KEYS[feed_more], ids=list(range(200, 400)))
        status = sharded.status()
        stores = [learner.status() for learner in sharded.learners.values()]
        data = sharded.report_data(title="All shards")
    for name in ("rows", "labels", "asked", "open_questions", "support_vectors", "events"):
        assert status[name] == sum(store[name] for store in stores)
    counts = [store["scores"]["window"]["n"] for store in stores]
    right = sum(n * store["scores"]["window"]["accuracy"] for n, store in zip(counts, stores, strict=True))
    assert status["scores"]["window"]["n"] == sum(counts)
    assert status["scores"]["window"]["accuracy"] == pytest.approx(right / sum(counts))
    assert data["totals"]["rows"] == 400
    assert data["curves"]["rows"][-1] == 400
    assert data["curves"]["labels"][-1] == pytest.approx(200)
    assert all(np.diff(data["curves"]["labels"]) >= 0)
    assert np.sum(data["confusion"][0]["matrix"]) == sum(store["scores"]["total"]["n"] for store in stores)
    assert len(data["questions"]) == status["asked"]
    page = render(data)
    assert "All shards" in page
    assert "3 shards, each with a model of its own" in page


def test_the_status_and_report_of_nothing(tmp_path):
    with opened(tmp_path / "s") as sharded:
        assert sharded.status()["rows"] == 0
        assert sharded.status()["scores"]["window"] == {"n": 0, "accuracy": None}
        assert "3 shards" in render(sharded.report_data())
        assert sharded.predict(X[:3], keys=KEYS[:3]).tolist() == [None] * 3
        with pytest.raises(StoreError, match="no shard has seen two classes"):
            sharded.merged()


def test_questions_and_labels_find_their_shards(tmp_path):
    with opened(tmp_path / "s") as sharded:
        outcomes = sharded.step(X[:100], keys=KEYS[:100])
        ids = [name for outcome in outcomes.values() for name in outcome.ids]
        assert len(set(ids)) == 100
        assert ids[0] == "0:0"
        asked = sharded.ask(7)
        assert len({question.id for question in asked}) == 7
        assert len({question.id.partition(":")[0] for question in asked}) == 3
        sharded.label([question.id for question in asked], ["yes"] * 7, by="ann")
        assert sharded.status()["labels"] == 7
        with pytest.raises(InputError, match=r"'9:9' is in none of the open shards"):
            sharded.label([asked[0].id, "9:9"], ["no", "no"])
        sharded.step(X[100:102], keys=["a", "c"], ids=["twice", "x"])  # in two shards
        sharded.step(X[102:103], keys=["c"], ids=["twice"])
        with pytest.raises(InputError, match=r"'twice' is in the shards \[0, 2\]"):
            sharded.label(["twice"], ["no"])


def test_wrong_input_is_an_error(tmp_path):
    with pytest.raises(StoreError, match="pass the number of shards"):
        ShardedLearner.open(tmp_path / "s", LEARNER)
    with pytest.raises(ValueError, match="shards=0 must be a positive integer"):
        opened(tmp_path / "s", shards=0)
    with pytest.raises(ValueError, match="must be shards from 0 to 2"):
        opened(tmp_path / "s", only=[3])
    with opened(tmp_path / "s") as sharded:
        with pytest.raises(InputError, match="keys has 1 entries, but X has 2 rows"):
            sharded.step(X[:2], keys=["a"])
        for missing in (None, ""):
            with pytest.raises(InputError, match="Row 1 of the batch has no key"):
                sharded.step(X[:2], keys=["a", missing])
        sharded.step(X[:20], keys=KEYS[:20])
        with pytest.raises(ValueError, match="features"):
            sharded.step(X[:2, :1], keys=["a", "b"])
        assert sharded.n_rows == 20
    with pytest.raises(StoreError, match="has 3 shards, not 4"):
        opened(tmp_path / "s", shards=4)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    with pytest.raises(StoreError, match="is not empty"):
        opened(tmp_path / "other")
    assert is_sharded(tmp_path / "s")
    assert not is_sharded(tmp_path / "other")
    (tmp_path / "s" / "shards.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        opened(tmp_path / "s")


def test_learners_that_cannot_be_merged_say_so(tmp_path):
    with ShardedLearner.open(tmp_path / "s", AdaptiveSVM(), shards=2, random_state=0) as sharded:
        sharded.step(X, Y, keys=KEYS)
        with pytest.raises((TypeError, ValueError), match="AdaptiveSVM"):
            sharded.merged()


def test_a_given_scale_is_checked():
    with NeverEndingLearner.open(":memory:", LEARNER, scaling="none") as learner:
        for mean, scale, message in (
            ([0.0], [1.0, 1.0], "shape"),
            ([0.0, 0.0], [1.0, 0.0], "positive"),
            ([0.0, np.nan], [1.0, 1.0], "finite"),
        ):
            with pytest.raises(ValueError, match=message):
                learner.set_scale(mean, scale)
        learner.set_scale([5.0, 0.0], [3.0, 0.1])
        learner.step(X[:50], Y[:50])
        with NeverEndingLearner.open(":memory:", LEARNER, scaling="none") as other:
            other.step((X[:50] - [5.0, 0.0]) / [3.0, 0.1], Y[:50])
            scaled = other.decision_function((X - [5.0, 0.0]) / [3.0, 0.1])
        assert np.allclose(learner.decision_function(X), scaled)
        with pytest.raises(ValueError, match="before the first row"):
            learner.set_scale([5.0, 0.0], [3.0, 0.1])
    with (
        NeverEndingLearner.open(":memory:", LEARNER) as learner,
        pytest.raises(ValueError, match="scaling='none'"),
    ):
        learner.set_scale([0.0], [1.0])
