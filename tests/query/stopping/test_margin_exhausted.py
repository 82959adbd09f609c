"""MarginExhausted against a plain computation."""

from hypothesis import given
from hypothesis import strategies as st

from everlearn.query.stopping import MarginExhausted, Progress
from query.stopping.stopping_helpers import refused, stops, verdicts

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
