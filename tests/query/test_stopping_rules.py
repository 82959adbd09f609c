"""Each stopping rule against a plain computation from all that it has been told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.query.stopping import (
    CostOfLabel,
    LabelBudget,
    MarginExhausted,
    Progress,
    StatQ,
    SupportSaturation,
)


def verdicts(rule, events):
    """The verdict after each event."""
    found = []
    for event in events:
        rule.update(event)
        found.append(rule.verdict())
    return found


def stops(rule, events):
    return [verdict.stop for verdict in verdicts(rule, events)]


def refused(words, rule):
    with pytest.raises(ValueError, match=words):
        rule.verdict()
    with pytest.raises(ValueError, match=words):
        rule.update(Progress(1, n_support=1, margin=1.0, score=1.0))


# ------------------------------------------------------------------------------------------ SupportSaturation


@given(
    st.lists(st.integers(0, 6), max_size=30),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.02, 0.3, 0.5, 1.0, 2.0]),
)
def test_saturation(n_support, window, rtol):
    events = [Progress(number + 1, n_support=count) for number, count in enumerate(n_support)]
    expected = []
    for now in range(len(n_support)):
        last = n_support[max(now - window, 0) : now + 1]
        expected.append(now >= window and max(last) - min(last) <= rtol * n_support[now])
    assert stops(SupportSaturation(window, rtol), events) == expected


def test_saturation_in_words():
    rule = SupportSaturation(n_iter_no_change=2)
    found = verdicts(rule, [Progress(k, n_support=count) for k, count in enumerate([5, 6, 7, 7, 7])])
    assert found[1].reason == "2 labels so far; n_iter_no_change=2 needs 3."
    assert found[2].reason == (
        "The number of support vectors moved between 5 and 7 over the last 2 labels: 2 apart, 0 allowed."
    )
    assert found[4].reason.startswith(
        "The number of support vectors stayed between 7 and 7 over the last 2 labels"
    )
    assert found[4].evidence == {"least": 7, "most": 7, "range": 0, "allowed": 0.0, "n_iter_no_change": 2}


def test_saturation_refuses():
    with pytest.raises(
        ValueError, match="SupportSaturation needs n_support after every label, but Progress has none"
    ):
        SupportSaturation().update(Progress(1))
    refused(
        "'n_iter_no_change' of SupportSaturation must be an integer from 1",
        SupportSaturation(n_iter_no_change=0),
    )
    refused("'rtol' of SupportSaturation must be a finite number, 0 or above", SupportSaturation(rtol=-0.1))


# -------------------------------------------------------------------------------------------- MarginExhausted

margin_values = st.sampled_from([0.0, 0.5, 0.9, 1.0, 1.1, 2.0])


@given(st.lists(st.tuples(margin_values, st.none() | margin_values), max_size=30), st.integers(1, 4))
def test_exhaustion(rows, patience):
    events = [Progress(k + 1, margin=margin, free_margin=free) for k, (margin, free) in enumerate(rows)]
    outside = [margin >= (1.0 if free is None else free) for margin, free in rows]
    expected = [
        now + 1 >= patience and all(outside[now + 1 - patience : now + 1]) for now in range(len(outside))
    ]
    assert stops(MarginExhausted(patience), events) == expected


def test_exhaustion_in_words():
    rule = MarginExhausted(patience=2)
    found = verdicts(
        rule, [Progress(1, margin=0.25, free_margin=1.5), Progress(2, margin=1.0), Progress(3, margin=1.25)]
    )
    assert [verdict.reason for verdict in found] == [
        "The last row lies within the margin: |f| = 0.25, the free support vectors reach 1.5. 2 in "
        "succession are required.",
        "The last 1 question was about a row outside the margin: |f| = 1, without free support vectors "
        "the margin ends at 1. 2 in succession are required.",
        "The last 2 questions were about rows outside the margin: |f| = 1.25, without free support "
        "vectors the margin ends at 1.",
    ]
    assert found[2].evidence == {"margin": 1.25, "bound": 1.0, "in_succession": 2, "patience": 2}


def test_exhaustion_passes_over_rows_that_no_rule_chose():
    rule = MarginExhausted(patience=2)
    for event in (Progress(1), Progress(2, margin=1.5), Progress(3), Progress(4, margin=1.25)):
        assert not rule.verdict().stop
        rule.update(event)
    assert rule.verdict().stop


def test_exhaustion_refuses():
    refused("'patience' of MarginExhausted must be an integer from 1", MarginExhausted(patience=0))


# ------------------------------------------------------------------------------------------------------ StatQ

shares = st.none() | st.sampled_from([0.0, 0.5, 0.9, 0.95, 0.995, 0.999, 1.0])


@given(st.lists(st.tuples(shares, shares, shares), max_size=20), st.none() | st.floats(0, 1))
def test_statistical_queries(rows, threshold):
    events = [
        Progress(k + 1, outside_margin=outside, examined_outside_margin=examined, confidence=c)
        for k, (outside, examined, c) in enumerate(rows)
    ]
    weighed, plain, robust = [], [], []
    value = [0.0, 0.0, 0.0]
    for outside, examined, c in rows:
        value[0] = c * outside if None not in (c, outside) else value[0]
        value[1] = outside if outside is not None else value[1]
        value[2] = examined if examined is not None else value[2]
        weighed.append(value[0] > (0.9 if threshold is None else threshold))
        plain.append(value[1] > (0.9 if threshold is None else threshold))
        robust.append(value[2] > (0.995 if threshold is None else threshold))
    assert stops(StatQ(threshold), events) == weighed
    assert stops(StatQ(threshold, criterion="outside"), events) == plain
    assert stops(StatQ(threshold, robust=True), events) == robust


def test_statistical_queries_in_words():
    event = Progress(9, outside_margin=0.96, examined_outside_margin=0.5, confidence=0.5)
    assert verdicts(StatQ(), [event])[0].reason == "confidence*outside is 0.5 x 0.96 = 0.48, not above 0.9."
    assert verdicts(StatQ(criterion="outside"), [event])[0].reason == "outside is 0.96, above 0.9."
    assert verdicts(StatQ(robust=True), [event])[0].reason == (
        "The fraction of examined rows outside the margin is 0.5, not above 0.995."
    )
    assert StatQ().verdict().reason == "No label with outside_margin and confidence yet (threshold 0.9)."
    assert StatQ(criterion="outside").verdict().reason.startswith("No label with outside_margin yet")
    assert StatQ(robust=True).verdict().reason.startswith("No label with examined_outside_margin yet")


def test_statistical_queries_refuse():
    refused("'threshold' of StatQ must be None or a number from 0 to 1, got 2", StatQ(threshold=2))
    refused(
        r"'criterion' of StatQ must be one of 'confidence\*outside', 'outside', got 'p'", StatQ(criterion="p")
    )
    refused("'robust' of StatQ must be True or False, got 3", StatQ(robust=3))


# ------------------------------------------------------------------------------------------------ LabelBudget


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(0, 30))
def test_budget(steps, budget):
    labels = np.cumsum(steps, dtype=int)
    assert stops(LabelBudget(budget), [Progress(int(k)) for k in labels]) == [k >= budget for k in labels]


def test_budget_refuses():
    refused("'max_labels' of LabelBudget must be an integer from 0", LabelBudget(max_labels=2.5))


# ------------------------------------------------------------------------------------------------ CostOfLabel


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
