"""Accuracy, learning curve and stop signal from random checks."""

import numpy as np
import pytest

from everlearn.serve._curve import NOTHING, Accuracy, Checked
from everlearn.stream.random_checks import BaselinePoint


def checks_of(errors, seed=0, share=1.0):
    """Checks every ten labels, wrong with these probabilities."""
    random = np.random.default_rng(seed)
    return [Checked(10 * k, float(random.random() >= p), share) for k, p in enumerate(errors, 1)]


def test_a_model_that_improved_is_judged_by_what_it_is_now():
    checks = [Checked(10 * k, float(k >= 10 or k % 2), 1.0) for k in range(1, 101)]
    now = Accuracy(checks, 1000).now()
    assert now["value"] > 0.97
    assert now["n"] == 100
    assert now["of"] == "answers"
    assert now["low"] < now["value"] < now["high"]


@pytest.mark.parametrize(("errors", "truth"), [(0.3, 0.7), (0.05, 0.95), ("falls", 1 - 500**-0.5)])
def test_the_interval_contains_the_truth(errors, truth):
    inside = []
    for seed in range(60):
        wrong = [(10 * k) ** -0.5 if errors == "falls" else errors for k in range(1, 51)]
        now = Accuracy(checks_of(wrong, seed), 500).now()
        inside.append(now["low"] <= truth <= now["high"])
    assert np.mean(inside) >= 0.88  # 95 % is claimed; four standard errors of 60


def test_a_curve_needs_checks_and_has_at_most_60_points():
    assert Accuracy(checks_of([0.5] * 4), 40).curve() == []
    assert Accuracy([], 0).now() is None
    many = Accuracy(checks_of([0.1] * 2000), 20_001).curve()
    assert len(many) <= 60
    assert many[-1]["labels"] == 20_001
    assert [point["labels"] for point in many] == sorted(point["labels"] for point in many)
    assert NOTHING["accuracy"] is None
    assert not NOTHING["stopping"]["stop"]


def test_the_last_point_of_the_curve_is_the_accuracy():
    accuracy = Accuracy(checks_of([0.2] * 40), 410)
    now = accuracy.now()
    assert {name: accuracy.curve()[-1][name] for name in ("value", "low", "high", "n")} == {
        name: now[name] for name in ("value", "low", "high", "n")
    }


def test_selected_rows_have_their_share():
    """The strategy has taken 40 % of the rows, on which the model is right half as often."""
    checks = checks_of([0.0] * 200, share=0.6)
    easy = Accuracy(checks, 2000).now()
    all_rows = Accuracy(checks, 2000, selected=[1.0, 0.0] * 20).now()
    assert easy["value"] > 0.99
    assert all_rows["value"] == pytest.approx(0.6 + 0.4 * 0.5, abs=0.005)
    assert all_rows["low"] < 0.75
    assert Accuracy(checks, 2000, selected=[0.0] * 4).now() == easy  # too few


def test_wrong_answers_are_corrected_for_if_it_is_known_how_many_there_are():
    """A model that is right on 90 % agrees with 0.9 * 0.9 + 0.1 * 0.1 / 2 of the answers of three classes."""
    agree = 0.9 * 0.9 + 0.1 * 0.1 / 2
    checks = [Checked(10 * k, agree, 1.0) for k in range(1, 401)]
    plain = Accuracy(checks, 4000, n_classes=3).now()
    corrected = Accuracy(checks, 4000, n_classes=3, reliability=(0.9, 0.87, 0.93)).now()
    assert plain["value"] == pytest.approx(agree, abs=0.02)
    assert (plain["of"], corrected["of"]) == ("answers", "rows")
    assert corrected["value"] == pytest.approx(0.9, abs=0.02)
    assert corrected["high"] - corrected["low"] > plain["high"] - plain["low"]
    assert corrected["high"] <= 1


def test_after_a_restart_earlier_checks_do_not_count():
    checks = [Checked(k, 1.0, 1.0) for k in range(10, 500, 10)] + [
        Checked(k, float(k % 20 == 0), 1.0) for k in range(500, 800, 10)
    ]
    assert Accuracy(checks, 800).now()["value"] > 0.65
    assert 0.3 < Accuracy(checks, 800, restarts=[500]).now()["value"] < 0.6
    assert Accuracy(checks, 800, restarts=[790]).now() == Accuracy(checks, 800).now()  # too few since then


def test_the_baseline_has_intervals():
    accuracy = Accuracy(checks_of([0.2] * 50), 500)
    (point,) = accuracy.baseline([BaselinePoint(10, 40, 30)])
    assert (point["labels"], point["value"], point["n"]) == (10, 0.75, 40)
    assert point["low"] < 0.75 < point["high"]


def test_too_few_checks_say_nothing():
    found = Accuracy(checks_of([0.1] * 29), 290).stopping()
    assert not found["stop"]
    assert found["expected_gain_100"] is None
    assert "29 of 30" in found["text"]


def test_errors_that_fall_are_extrapolated():
    """Errors of n^-0.5: 100 labels after 2,000 bring 0.0224 - 0.0218, after 200 bring 0.0707 - 0.0577."""
    found = Accuracy(checks_of([(10 * k) ** -0.5 for k in range(1, 201)]), 2000).stopping()
    assert 0.0001 < found["expected_gain_100"] < 0.0015
    assert found["expected_gain_100"] <= found["largest_gain_100"] < 0.004
    assert found["stop"]
    assert found["text"].startswith("100 more labels should add")
    early = Accuracy(checks_of([0.3] * 10 + [0.15] * 10 + [0.05] * 15), 350).stopping()
    assert not early["stop"]
    assert early["expected_gain_100"] > 0.003


def test_a_model_that_does_not_learn_gains_little():
    assert Accuracy(checks_of([0.4] * 300), 3000).stopping()["expected_gain_100"] < 0.004


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_only_right_or_only_wrong(right):
    found = Accuracy([Checked(10 * k, right) for k in range(50)], 500).stopping()
    assert 0 <= found["expected_gain_100"] <= found["largest_gain_100"] < 1
