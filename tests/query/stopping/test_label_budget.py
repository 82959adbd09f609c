"""LabelBudget against a plain computation."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everlearn.query.stopping import LabelBudget, Progress
from query.stopping.stopping_helpers import refused, stops


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(0, 30))
def test_budget(steps, budget):
    labels = np.cumsum(steps, dtype=int)
    assert stops(LabelBudget(budget), [Progress(int(k)) for k in labels]) == [k >= budget for k in labels]


def test_budget_refuses():
    refused("'max_labels' of LabelBudget must be an integer from 0", LabelBudget(max_labels=2.5))
