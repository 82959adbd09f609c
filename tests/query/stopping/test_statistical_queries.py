"""StatQ against a plain computation."""

from hypothesis import given
from hypothesis import strategies as st

from everlearn.query.stopping import Progress, StatQ
from query.stopping.stopping_helpers import refused, stops, verdicts

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
