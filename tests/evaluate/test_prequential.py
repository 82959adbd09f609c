"""Prequential scores against scikit-learn and the plain version."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from everlearn import metrics
from everlearn.evaluate.pending_predictions import PendingPredictions
from everlearn.evaluate.prequential import Prequential
from property_helpers import property_test
from reference.prequential import PlainPrequential
from state_helpers import is_plain, same_bits

SPANS = ("window", "fading", "total")


def flat(value, path=""):
    """Numbers by their path in nested dicts."""
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in flat(item, f"{path}/{key!r}").items()}
    return {path: value}


def assert_same(found, expected, tolerance):
    found, expected = flat(found), flat(expected)
    assert found.keys() == expected.keys()
    for path, value in found.items():
        assert value == pytest.approx(expected[path], rel=tolerance, abs=tolerance, nan_ok=True), path


def stream(n, n_classes, seed=0, right=0.7, abstain=0.1):
    """Labels, predictions with None, and decision values that say something."""
    rng = np.random.default_rng(seed)
    labels = np.array(list("abcdefgh"[:n_classes]), dtype=object)
    y = rng.integers(0, n_classes, n)
    p = np.where(rng.random(n) < right, y, rng.integers(0, n_classes, n))
    predicted = labels[p]
    predicted[rng.random(n) < abstain] = None
    scores = np.round(np.eye(n_classes)[y] + rng.normal(size=(n, n_classes)), 1)  # with ties
    return labels[y], predicted, scores[:, 1] if n_classes == 2 else scores


def weights_of(n, fading):
    return fading ** np.arange(n - 1, -1, -1)


# ----------------------------------------------------------------------------------------------- the oracles


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("span", SPANS)
def test_measures_are_those_of_scikit_learn(n_classes, span):
    y, p, scores = stream(700, n_classes)
    evaluation = Prequential(window=300, fading_factor=0.99)
    evaluation.update(y, p, scores)
    found = evaluation.scores()[span]
    weights = weights_of(700, 0.99) if span == "fading" else np.ones(700)
    last = slice(-300, None) if span == "window" else slice(None)
    judged = np.array([q is not None for q in p[last]])
    y, p, w = (np.array(list(column[last][judged])) for column in (y, p, weights))
    assert found["n"] == pytest.approx(w.sum(), rel=1e-12)
    assert found["abstained"] == pytest.approx(weights[last][~judged].sum(), rel=1e-12)
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(y, p, sample_weight=w), rel=1e-12)
    assert found["mcc"] == pytest.approx(sk.matthews_corrcoef(y, p, sample_weight=w), rel=1e-10)
    recalls = sk.recall_score(y, p, average=None, sample_weight=w)
    precisions = sk.precision_score(y, p, average=None, sample_weight=w)
    if span != "fading":
        assert found["g_means"] == pytest.approx(metrics.g_means(y, p), rel=1e-12)
    assert found["g_means"] == pytest.approx(np.prod(recalls) ** (1 / n_classes), rel=1e-12)
    assert list(found["per_class"]) == list("abcdefgh"[:n_classes])
    for label, recall, precision in zip(found["per_class"], recalls, precisions, strict=True):
        expected = {"recall": recall, "precision": precision, "support": w[y == label].sum()}
        assert found["per_class"][label] == pytest.approx(expected, rel=1e-12)
    matrix = sk.confusion_matrix(y, p, sample_weight=w)
    classes, counted = evaluation.confusion(span)
    assert classes.tolist() == list("abcdefgh"[:n_classes])
    np.testing.assert_allclose(counted, matrix, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_area_is_that_of_scikit_learn(n_classes):
    y, p, scores = stream(700, n_classes)
    evaluation = Prequential(window=300, fading_factor=0.99)
    evaluation.update(y, p, scores)
    found = evaluation.scores()
    judged = np.flatnonzero([q is not None for q in p[-300:]])
    y, scores = y[-300:][judged], scores[-300:][judged]
    for span, w in (("window", np.ones(300)), ("fading", weights_of(300, 0.99))):
        if n_classes == 2:
            expected = sk.roc_auc_score(y == "b", scores, sample_weight=w[judged])
        else:
            expected = np.mean(
                [
                    sk.roc_auc_score(y == label, scores[:, column], sample_weight=w[judged])
                    for column, label in enumerate("abcd")
                ]
            )
        assert found[span]["auc"] == pytest.approx(expected, rel=1e-12)
    assert math.isnan(found["total"]["auc"])  # the decision values are gone


def test_two_classes_with_a_value_each():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 100), rng.normal(size=(100, 2))
    evaluation = Prequential()
    evaluation.update(y, y, scores)
    expected = [sk.roc_auc_score(y == k, scores[:, k]) for k in (0, 1)]
    assert abs(expected[0] - expected[1]) > 0.01
    assert evaluation.scores()["window"]["auc"] == pytest.approx(np.mean(expected), rel=1e-12)


def test_total_area_is_that_of_the_window_while_that_holds_everything():
    y, p, scores = stream(300, 2)
    evaluation = Prequential(window=300)
    evaluation.update(y, p, scores)
    found = evaluation.scores()
    assert found["total"]["auc"] == found["window"]["auc"] > 0.5
    evaluation.update(["a"], ["a"], [0.0])
    assert math.isnan(evaluation.scores()["total"]["auc"])


def test_baselines_are_what_they_say():
    y, p, _ = stream(500, 3, abstain=0.0)
    evaluation = Prequential(window=100)
    evaluation.update(y, p)
    found = evaluation.scores()["baselines"]
    before = y[:-1]
    majority = [min("abc", key=lambda k: (-np.sum(before[: i + 1] == k), k)) for i in range(499)]
    for name, guess in (("no_change", before), ("majority", np.array(majority))):
        for span, last in (("window", slice(-100, None)), ("total", slice(None))):
            true, said = np.array(list(y[1:][last])), np.array(list(guess[last]))
            assert found[name][span]["accuracy"] == pytest.approx(sk.accuracy_score(true, said), rel=1e-12)
            assert found[name][span]["g_means"] == pytest.approx(metrics.g_means(true, said), rel=1e-12)
            assert found[name][span]["mcc"] == pytest.approx(sk.matthews_corrcoef(true, said), abs=1e-12)
        assert found[name]["total"]["n"] == 499  # nothing can be said about the first


def test_a_faded_class_does_not_ruin_the_correlation():
    evaluation = Prequential(window=10, fading_factor=0.9)
    evaluation.update(["a", "b", "b"], ["a", "b", "a"])
    evaluation.update(["c", "d"] * 1000, ["c", "d"] * 1000)
    assert evaluation.confusion("fading")[1][1].max() < 1e-80  # as light as that
    found = evaluation.scores()["fading"]
    assert found["mcc"] == pytest.approx(1.0, abs=1e-12)
    assert found["per_class"]["b"]["recall"] == pytest.approx(0.9 / 1.9, rel=1e-12)
    alone = Prequential(window=10, fading_factor=0.9)
    alone.update(["a", "b"], ["b", "a"])
    alone.update(["b"] * 2000, ["b"] * 2000)
    assert -1e-12 <= alone.scores()["fading"]["mcc"] <= 0.0


def test_counts_fade_away():
    evaluation = Prequential(fading_factor=0.5)
    evaluation.update(["a", "b"], ["a", "b"])
    evaluation.update(["b"] * 820, [None] * 820)
    assert 0 < evaluation.scores()["fading"]["n"] < 1e-240
    evaluation.update(["b"] * 80, [None] * 80)  # below 1e-250 it is nothing, long before it underflows
    found = evaluation.scores()["fading"]
    assert found["n"] == 0
    assert math.isnan(found["accuracy"])
    assert math.isnan(found["mcc"])
    assert found["abstained"] == pytest.approx(2.0)


# -------------------------------------------------------------------------------------------------- the twin


@st.composite
def streams(draw):
    """Rows of a label, a prediction or None, and three decision values or None; and the blocks of a cut."""
    n = draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = list("abc"[: draw(st.integers(1, 3))])
    rows = [
        (
            str(rng.choice(labels)),
            None if rng.random() < 0.2 else str(rng.choice(labels)),
            None if rng.random() < 0.2 else tuple(rng.integers(-3, 4, 3).astype(float).tolist()),
        )
        for _ in range(n)
    ]
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=6)))
    return rows, [rows[a:b] for a, b in zip([0, *cuts], [*cuts, n], strict=True)]


def columns(rows):
    return [[row[i] for row in rows] for i in range(3)]


@property_test(100)
@given(streams(), st.integers(1, 12), st.sampled_from([0.5, 0.9, 0.999, 1.0]))
def test_it_is_the_plain_version_however_the_stream_is_cut(case, window, fading):
    rows, blocks = case
    plain = PlainPrequential(window, fading)
    y, p, s = columns(rows)
    plain.update(y, p, [None if row is None else dict(zip("abc", row, strict=True)) for row in s])
    evaluation = Prequential(window, fading, classes="abc")
    for block in blocks:
        evaluation.update(
            *columns(block)[:2], [[math.nan] * 3 if r is None else r for r in columns(block)[2]]
        )
    found = evaluation.scores()
    for span in SPANS:
        for who, judged in ((1, found[span]), (2, found["baselines"]["no_change"][span])):
            expected = plain.judge(span, who)
            assert_same({k: judged[k] for k in expected}, expected, 1e-9)
        assert_same(found["baselines"]["majority"][span], plain.judge(span, 3), 1e-9)
        assert found[span]["auc"] == pytest.approx(plain.auc(span), rel=1e-9, nan_ok=True)


@property_test(100)
@given(streams(), st.integers(1, 12))
def test_cutting_shows_in_the_last_digits_only(case, window):
    rows, blocks = case
    whole, cut = Prequential(window, 0.99), Prequential(window, 0.99)
    y, p, s = columns(rows)
    whole.update(y, p, [None if r is None else r[0] for r in s])
    for block in blocks:
        y, p, s = columns(block)
        cut.update(y, p, [None if r is None else r[0] for r in s])
    assert_same(cut.scores(), whole.scores(), 1e-12)
    assert cut.classes.tolist() == whole.classes.tolist()


def test_cutting_a_long_stream_shows_in_the_last_digits_only():
    y, p, scores = stream(20_000, 3)
    whole, cut = Prequential(), Prequential()
    whole.update(y, p, scores)
    for start in range(0, 20_000, 7):
        rows = slice(start, start + 7)
        cut.update(y[rows], p[rows], scores[rows])
    assert_same(cut.scores(), whole.scores(), 1e-12)


# ------------------------------------------------------------------------------------------- saving, looking


@property_test(100)
@given(streams(), st.integers(1, 12), st.booleans())
def test_a_saved_one_goes_on_bit_for_bit(case, window, with_classes):
    _, blocks = case
    classes = "ba" if with_classes else None
    kept, restored = Prequential(window, 0.9, classes), Prequential(window, 0.9, classes)
    for block in blocks:
        y, p, s = columns(block)
        s = [None if r is None else r[:2] for r in s] if any(s) else None
        kept.update(y, p, s)
        restored.update(y, p, s)
        state = restored.state()
        assert is_plain(state)
        json.dumps({key: value for key, value in state.items() if not isinstance(value, np.ndarray)})
        restored = Prequential.from_state(state)
        assert same_bits(restored.state(), kept.state())
        assert repr(restored.scores()) == repr(kept.scores())  # NaN is not equal to itself
    assert restored.classes.tolist() == kept.classes.tolist()


def test_looking_changes_nothing_and_a_state_is_a_copy():
    y, p, scores = stream(100, 3)
    evaluation = Prequential(window=50)
    evaluation.update(y, p, scores)
    state = evaluation.state()
    evaluation.scores()
    evaluation.confusion()[1][:] = 7
    assert same_bits(evaluation.state(), state)
    evaluation.update(y, p, scores)
    assert not same_bits(evaluation.state(), state)
    restored = Prequential.from_state(state)
    restored.update(y, p, scores)
    assert same_bits(restored.state(), evaluation.state())
    assert state["n_seen"] == 100


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_rows_one_at_a_time_are_counted_as_in_blocks(n_classes):
    y, p, scores = stream(200, n_classes)
    p = p.astype(object)
    p[::7] = None
    single, block = Prequential(window=30, fading_factor=0.9), Prequential(window=30, fading_factor=0.9)
    block.update(y, p, scores)
    for i in range(200):
        single.update(y[i : i + 1], p[i : i + 1], scores[i : i + 1])
    for which in ("window", "fading", "total"):
        np.testing.assert_allclose(single.confusion(which)[1], block.confusion(which)[1], rtol=1e-12)
    ours, theirs = single.state(), block.state()
    for name in ("recent_codes", "recent_scores", "recent_widths", "frequency", "last", "n_abstained"):
        np.testing.assert_array_equal(ours[name], theirs[name])
    assert repr(single.scores()["window"]) == repr(block.scores()["window"])


def test_the_scores_of_a_moment_do_not_change_with_later_labels():
    y, p, scores = stream(300, 3)
    evaluation = Prequential(window=40)
    moments = []
    for i in range(300):
        evaluation.update(y[i : i + 1], p[i : i + 1], scores[i : i + 1])
        moments.append((evaluation.scores()["window"], evaluation.now()))
    for found, now in moments:
        assert repr(now.measures()) == repr(found)


def test_memory_is_bounded_by_the_window():
    y, p, scores = stream(1000, 3)
    evaluation = Prequential(window=50)
    evaluation.update(y, p, scores)
    sizes = {key: np.size(value) for key, value in evaluation.state().items()}
    held = {key: value.nbytes for key, value in vars(evaluation._recent).items() if hasattr(value, "nbytes")}
    for _ in range(20):
        evaluation.update(y, p, scores)
    assert {key: np.size(value) for key, value in evaluation.state().items()} == sizes
    assert {key: getattr(evaluation._recent, key).nbytes for key in held} == held


def test_what_is_taken_can_be_judged():
    remembered, evaluation = PendingPredictions(), Prequential()
    y, p, scores = stream(100, 3)
    ids = [f"row {i}" for i in range(100)]
    remembered.add(ids, p, scores)
    late = np.random.default_rng(1).permutation(100)
    found, predictions, decisions = remembered.take([ids[i] for i in late])
    assert found.all()
    evaluation.update(y[late], predictions, decisions)
    direct = Prequential()
    direct.update(y[late], p[late], scores[late])
    assert same_bits(evaluation.state(), direct.state())
