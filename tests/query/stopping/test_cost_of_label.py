"""CostOfLabel against a plain computation, and by noisy estimates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.query.stopping import CostOfLabel, Progress
from query.stopping.stopping_helpers import refused, verdicts


def line_through(labels, values):
    """Slope and its standard error: the last of (A'A)^-1 A'y, and of the root of s^2 (A'A)^-1."""
    A = np.column_stack([np.ones(len(labels)), labels])
    inverse = np.linalg.inv(A.T @ A)
    found = inverse @ A.T @ np.array(values, dtype=float)
    left = values - A @ found
    return found[1], np.sqrt(inverse[1, 1] * (left @ left) / (len(labels) - 2))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(-8, 8)), max_size=25),
    st.integers(1, 12),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from(["score", "estimate"]),
)
def test_cost(steps, window, caution, reads):
    """The slope and its error by matrices, of the readings of the last window of labels."""
    rule = CostOfLabel(cost=0.3, gain=0.7, window=window, metric=reads, n_standard_errors=caution)
    labels, known = 0, []
    for step, value in steps:
        labels += step
        rule.update(Progress(labels, **{reads: value}))
        known += [] if value is None else [(labels, value)]
        last = [(at, score) for at, score in known if at >= known[-1][0] - window]
        verdict = rule.verdict()
        spans = bool(known) and known[0][0] <= known[-1][0] - window
        if not spans or len(last) < 3 or len({at for at, _ in last}) == 1:
            assert verdict.stop is False
            assert "slope" not in verdict.evidence
            continue
        slope, error = line_through(*zip(*last, strict=True))
        worth = 0.7 * (slope + caution * error)
        assert verdict.evidence["slope"] == pytest.approx(slope, abs=1e-9)
        assert verdict.evidence["standard_error"] == pytest.approx(error, abs=1e-6)
        assert verdict.evidence["worth"] == pytest.approx(worth, abs=1e-6)
        if abs(worth - 0.3) > 1e-6:
            assert verdict.stop == (worth < 0.3)


def test_cost_in_words():
    rule = CostOfLabel(cost=2, gain=100, window=2)
    found = verdicts(
        rule, [Progress(k, score=score) for k, score in enumerate([0.5, 0.625, 0.75, 0.75, 0.75])]
    )
    assert found[1].reason == "2 labels so far have score; three are needed, over a window of 2 labels."
    assert found[2].reason == (
        "The next label is expected to raise the score by 0.125, worth 12.5: not less than its cost of 2."
    )
    assert found[4].reason == (
        "The next label is expected to raise the score by 0, worth 0: less than its cost of 2."
    )
    rule = CostOfLabel(cost=2, gain=100, window=2, n_standard_errors=1)
    reason = verdicts(rule, [Progress(k, score=score) for k, score in enumerate([0.5, 0.75, 0.75])])[
        -1
    ].reason
    assert "raise the score by 0.197 (slope 0.125 plus 1 standard errors)" in reason


def test_cost_by_noisy_estimates():
    """Right or wrong about random rows: the mean of the slopes is that of the true curve."""
    rng = np.random.default_rng(0)
    slopes = []
    for _ in range(300):
        rule = CostOfLabel(window=100, metric="estimate")
        for labels in range(101):
            rule.update(Progress(labels, estimate=float(rng.random() < 0.6 + 0.002 * labels)))
        slopes.append(rule.verdict().evidence["slope"])
    error = np.std(slopes) / np.sqrt(len(slopes))
    assert abs(np.mean(slopes) - 0.002) < 4 * error
    assert error < 0.0002


def test_cost_refuses():
    refused("'cost' of CostOfLabel must be a finite number, 0 or above", CostOfLabel(cost=-1))
    refused("'gain' of CostOfLabel must be a finite number, 0 or above", CostOfLabel(gain=np.inf))
    refused("'window' of CostOfLabel must be an integer from 1", CostOfLabel(window=0))
    refused("'metric' of CostOfLabel must be one of 'score', 'estimate'", CostOfLabel(metric="f"))
    refused(
        "'n_standard_errors' of CostOfLabel must be a finite number, 0 or above",
        CostOfLabel(n_standard_errors=-1),
    )
