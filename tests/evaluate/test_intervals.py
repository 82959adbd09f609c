"""Confidence intervals: right about as often as they say."""

import numpy as np
import pytest

from everlearn.evaluate.intervals import gain_over_majority, wilson


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    hits = rng.binomial(60, 0.9, size=4000)
    lower, upper = wilson(hits / 60, np.full(4000, 60))
    assert 0.92 < np.mean((lower <= 0.9) & (upper >= 0.9)) < 0.98
    truth = np.array([[0.25, 0.15], [0.05, 0.55]])  # right on 80 %, the majority is 60 %
    drawn = rng.multinomial(80, truth.ravel(), size=4000).reshape(-1, 2, 2)
    bounds = [gain_over_majority(matrix)[1:] for matrix in drawn]
    assert 0.92 < np.mean([low <= 0.2 <= high for low, high in bounds]) < 0.98


def test_gain_is_the_difference_of_two_accuracies():
    gain, lower, upper = gain_over_majority([[5, 1], [2, 12]])
    assert gain == pytest.approx(17 / 20 - 14 / 20)
    assert lower < gain < upper
