"""The window of `Prequential`: the last rows, one at a time or in blocks, and scores of one moment."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from everlearn.evaluate import Prequential
from everlearn.evaluate.window_scores import LastRows
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
