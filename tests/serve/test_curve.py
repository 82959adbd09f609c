"""The learning curve on random checks, and the stop signal."""

import numpy as np
import pytest

from everlearn.serve import _curve
from everlearn.stream.random_checks import BaselinePoint, RandomCheck


def checks_of(errors, seed=0):
    """Checks every ten labels, wrong with these probabilities."""
    random = np.random.default_rng(seed)
    return [RandomCheck(10 * k, "a", "b" if random.random() < p else "a") for k, p in enumerate(errors, 1)]


def test_a_point_is_measured_on_the_later_half_of_the_checks():
    checks = [RandomCheck(10 * k, "a", "a" if k >= 50 else "b") for k in range(100)]
    points = _curve.curve(checks)
    assert (points[-1]["labels"], points[-1]["value"], points[-1]["n"]) == (991, 1.0, 50)
    assert points[0]["n"] == 5
    assert all(point["low"] <= point["value"] <= point["high"] for point in points)
    assert _curve.accuracy(points) == {key: points[-1][key] for key in ("value", "low", "high", "n")}


def test_a_curve_needs_checks_and_has_at_most_200_points():
    assert _curve.curve(checks_of([0.5] * 4)) == []
    assert _curve.accuracy([]) is None
    many = _curve.curve(checks_of([0.1] * 2000))
    assert len(many) <= 200
    assert many[-1]["labels"] == 20_001


def test_the_baseline_has_intervals():
    (point,) = _curve.baseline([BaselinePoint(10, 40, 30)])
    assert (point["labels"], point["value"], point["n"]) == (10, 0.75, 40)
    assert point["low"] < 0.75 < point["high"]


def test_too_few_checks_say_nothing():
    found = _curve.stopping(checks_of([0.1] * 29), 290)
    assert not found["stop"]
    assert found["expected_gain_100"] is None
    assert "29 of 30" in found["text"]


def test_errors_that_fall_are_extrapolated():
    """Errors of n^-0.5: 100 labels after 2,000 bring 0.0224 - 0.0218, after 200 bring 0.0707 - 0.0577."""
    checks = checks_of([(10 * k) ** -0.5 for k in range(1, 201)])
    mean, largest = _curve.expected_gain(checks, 2000, 100)
    assert 0.0002 < mean < 0.0015
    assert mean <= largest < 0.003
    assert _curve.stopping(checks, 2000)["stop"]
    early = _curve.stopping(checks_of([0.3] * 10 + [0.15] * 10 + [0.05] * 15), 350)
    assert not early["stop"]
    assert early["expected_gain_100"] > 0.005


def test_a_model_that_does_not_learn_gains_nothing():
    mean, _ = _curve.expected_gain(checks_of([0.4] * 300), 3000, 100)
    assert mean < 0.003


@pytest.mark.parametrize("right", ["a", "b"])
def test_only_right_or_only_wrong(right):
    mean, largest = _curve.expected_gain([RandomCheck(10 * k, "a", right) for k in range(50)], 500, 100)
    assert 0 <= mean <= largest < 1
