"""OAM: its reference version draw for draw, published figures, its reservoirs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auc.auc_helpers import FEATURES, STREAMS, learn_both, oam
from budget.budget_helpers import BUDGETS, SEEDS, clouds
from budget.golden_helpers import check_linear, every_size
from budget.native_helpers import SIZES
from everlearn import OAM
from property_helpers import property_test


def test_reservoirs_of_oam_hold_rows_of_their_class_from_all_of_the_stream():
    X, y = clouds(4000, 12, features=2)
    state = OAM(200, random_state=0).partial_fit(X, y, classes=[-1, 1])._native.get_state()
    number = {tuple(row): at for at, row in enumerate(X)}
    for side, label in enumerate((-1, 1)):
        rows = [number[tuple(row)] for row in state[f"kept_0_{side}"].reshape(-1, 2)]
        assert len(set(rows)) == 200
        assert np.all(y[rows] == label)
        assert np.mean(rows) == pytest.approx(2000, abs=4 * 4000 / np.sqrt(12 * 200))


@property_test(60)
@given(SEEDS, STREAMS, FEATURES, BUDGETS, st.sampled_from([0.01, 0.3, 1000.0]), SIZES)
def test_oam(seed, stream, features, budget, C, sizes):
    learn_both(*oam(features, budget, seed, C), *stream(60, seed, features), sizes)


@every_size
@pytest.mark.parametrize(
    ("model", "area", "scores", "w"),
    [
        (OAM(2**31 - 1, C=0.1), 0.5287, (-1.924356, -0.102856, 1.337469), (-0.861897, 0.840475, -0.558356)),
    ],
)
def test_published_figures(model, area, scores, w, size):
    check_linear(model, area, scores, w, size)
