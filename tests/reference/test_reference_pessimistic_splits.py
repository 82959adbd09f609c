"""The splits on which supervised learning does worst."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from property_helpers import property_test
from reference.pessimistic_splits import draw_labeled, only, pessimistic_splits
from semi.semi_helpers import clouds


@property_test(40)
@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(10, 40))
def test_labeled_rows_have_every_class_and_no_row_twice(seed, size, n):
    _, y = clouds(n, seed, share=0.2)
    y[:2] = [1, -1]
    L = draw_labeled(y, size, np.random.default_rng(seed))
    assert len(set(L)) == size
    assert set(y[L]) == {-1, 1}
    assert np.count_nonzero(only(y, L)) == size


def test_the_worst_are_kept_worst_first():
    X, y = clouds(60, 0)
    kept, all_ = (pessimistic_splits(X, y, 4, np.random.default_rng(1), 30, keep) for keep in (5, 30))
    accuracies = [split.accuracy for split in all_]
    assert accuracies == sorted(accuracies)
    assert len(set(accuracies)) > 5
    for split, other in zip(kept, all_[:5], strict=True):
        np.testing.assert_array_equal(split.labeled, other.labeled)
        np.testing.assert_array_equal(np.sort([*split.labeled, *split.unlabeled]), np.arange(60))
        f = SVC(kernel="linear").fit(X[split.labeled], y[split.labeled])
        assert split.accuracy == np.mean(f.predict(X[split.unlabeled]) == y[split.unlabeled])


@pytest.mark.parametrize("size", [1, 6])
def test_a_size_without_room_is_refused(size):
    with pytest.raises(ValueError, match=f"size={size}"):
        draw_labeled(np.array([1, -1, 1, 1, 1, 1]), size, np.random.default_rng(0))
