"""The error of a learner that still learns."""

import numpy as np
import pytest

from everlearn.evaluate.learning_curve import LearningCurve


def test_an_error_that_does_not_change():
    wrong = np.arange(1000) % 10 == 0
    value, low, high = LearningCurve(np.arange(1000) * 10, wrong, 10_000).accuracy()
    assert value == pytest.approx(0.9, abs=0.02)
    assert 0.85 < low < 0.9 < high < 0.95


def test_an_error_that_falls_is_that_of_the_last_checks_and_not_their_mean():
    labels = np.arange(20, 2001, 20)
    wrong = 4 / labels**0.8  # expected numbers of errors: as a mean over many runs
    value, low, high = LearningCurve(labels, wrong, 2000).accuracy()
    assert value == pytest.approx(1 - 4 / 2000**0.8, abs=0.01)
    assert low < value < high
    assert 1 - value < 0.6 * wrong.mean()


def test_without_checks_nothing_is_known():
    value, low, high = LearningCurve([], [], 100).accuracy()
    assert (round(value, 2), low < 0.01, high > 0.99) == (0.5, True, True)


def test_early_checks_say_nothing():
    late = LearningCurve([900, 950, 1000], [0, 0, 1], 1000).accuracy()
    assert LearningCurve([10, 100, 900, 950, 1000], [1, 1, 0, 0, 1], 1000).accuracy() == late


def test_gain():
    labels = np.arange(20, 2001, 20)
    mean, most = LearningCurve(labels, 4 / labels**0.8, 2000).gain(2000, 0.9)
    error = 4 / 2000**0.8
    assert mean == pytest.approx(error * (1 - 2**-0.8), abs=0.003)
    assert mean < most < error
