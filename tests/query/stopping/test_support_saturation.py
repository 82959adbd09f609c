"""SupportSaturation against a plain computation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.query.stopping import Progress, SupportSaturation
from query.stopping.stopping_helpers import refused, stops, verdicts


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
