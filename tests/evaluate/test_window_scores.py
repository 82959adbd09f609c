"""The window of `Prequential`: the last rows, one at a time or in blocks, and scores of one moment."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from everlearn.evaluate import Prequential
from everlearn.evaluate.window_scores import LastRows, measure_areas
from property_helpers import property_test

BLOCKS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=30)


@property_test(60)
@given(st.integers(1, 12), BLOCKS, st.integers(0, 10**6))
def test_the_last_rows_are_those_of_a_queue_and_views_do_not_change(size, blocks, seed):
    random, recent, queue = np.random.default_rng(seed), LastRows(size, 2), deque(maxlen=size)
    seen = []
    for count, width in blocks:
        codes = random.integers(0, 5, (count, 2), dtype=np.int32)
        scores = random.standard_normal((count, width))
        if count == 1:
            oldest = queue[0][0] if len(queue) == size else None
            assert recent.append_one(tuple(codes[0].tolist()), scores) == oldest
        else:
            recent.append(codes, scores, np.full(count, width, dtype=np.int32))
        queue.extend((codes[r].tolist(), scores[r].tolist(), width) for r in range(count))
        found = recent.rows()
        assert found[0].tolist() == [row[0] for row in queue]
        assert found[2].tolist() == [row[2] for row in queue]
        for line, (_, expected, width_then) in zip(found[1], queue, strict=True):
            assert line[:width_then].tolist() == expected
            assert np.isnan(line[width_then:]).all()
        seen.append((found, [part.copy() for part in found]))
    for views, copies in seen:
        for view, copy in zip(views, copies, strict=True):
            np.testing.assert_array_equal(view, copy)


def stream(n, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    scores = y + random.normal(0, 1, n)
    return y, (scores > 0.5).astype(int), scores


@pytest.mark.parametrize("window", [20, 100])
def test_scores_are_those_of_the_moment_and_computed_later(window):
    y, predicted, scores = stream(150)
    meter, moments = Prequential(window=window, classes=[0, 1]), []
    for t in range(150):
        meter.update(y[t : t + 1], predicted[t : t + 1], scores[t : t + 1])
        moments.append((t, meter.now()))
    for t, moment in moments[30::17]:
        last = slice(max(0, t + 1 - window), t + 1)
        found = moment.measures()
        assert found["accuracy"] == pytest.approx(np.mean(y[last] == predicted[last]))
        assert found["auc"] == pytest.approx(roc_auc_score(y[last], scores[last]))
        assert moment.areas is moment.areas  # computed once


@pytest.mark.parametrize("kind", ["distinct", "ties", "missing", "three classes", "one class"])
@pytest.mark.parametrize("abstaining", [0.0, 0.2])
def test_areas_of_several_moments_are_bit_for_bit_those_of_each(kind, abstaining):
    random = np.random.default_rng(1)
    meters = [Prequential(window=40) for _ in range(2)]
    moments = [[], []]
    for t in range(130):
        y = {"three classes": t % 3, "one class": 0}.get(kind, int(random.integers(0, 2)))
        score = random.normal(y, 1) if kind != "ties" else float(random.integers(0, 9))
        if kind == "missing" and random.random() < 0.1:
            score = float("nan")
        guess = None if random.random() < abstaining else int(score > 0.5)
        for meter, found in zip(meters, moments, strict=True):
            meter.update([y], [guess], [score])
            found.append(meter.now())
    together, single = moments
    for start in range(0, 130, 8):
        measure_areas(together[start : start + 8])
    if kind == "distinct":
        assert all("areas" in vars(moment) for moment in together[60:])
    expected = [moment.areas for moment in single]
    np.testing.assert_array_equal([moment.areas for moment in together], expected)
    assert np.isfinite(expected[-1]).all() == (kind not in ("three classes", "one class"))
