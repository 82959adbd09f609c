"""OPAUC: its reference version draw for draw, published figures, statistics of the classes, divergence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auc.auc_helpers import FEATURES, STREAMS, learn_both, opauc
from budget.budget_helpers import SEEDS, clouds
from budget.golden_helpers import check_linear, every_size
from budget.native_helpers import SIZES, make
from budget.refusal_helpers import X, Y
from everlearn import OPAUC
from property_helpers import property_test


def test_opauc_knows_mean_and_covariance_of_each_class():
    X, y = clouds(500, 11, features=4)
    model = OPAUC(0.01).partial_fit(X[:200], y[:200], classes=[-1, 1]).partial_fit(X[200:], y[200:])
    state = model._native.get_state()
    for side, label in enumerate((-1, 1)):
        np.testing.assert_allclose(state[f"mean_0_{side}"], X[y == label].mean(axis=0), atol=1e-12)
        spread = state[f"spread_0_{side}"].reshape(4, 4)
        np.testing.assert_allclose(spread, np.cov(X[y == label].T, bias=True), atol=1e-12)


@property_test(60)
@given(SEEDS, STREAMS, FEATURES, st.integers(0, 4), SIZES)
def test_opauc(seed, stream, features, rank, sizes):
    learn_both(*opauc(features, rank, seed), *stream(60, seed, features), sizes)


def test_auto_is_the_whole_covariance_up_to_500_features():
    X, y = clouds(30, 0, 501)
    for width, rank in ((500, "full"), (501, 50)):
        auto, same = (
            OPAUC(1e-3, rank=r, random_state=0).partial_fit(X[:, :width], y, classes=[-1, 1])
            for r in ("auto", rank)
        )
        np.testing.assert_array_equal(auto.coef_, same.coef_)
        other = OPAUC(1e-3, rank=49, random_state=0).partial_fit(X[:, :width], y, classes=[-1, 1])
        assert np.any(auto.coef_ != other.coef_)


def test_opauc_that_diverges_says_so():
    words = "weights of OPAUC have diverged: scale the features.*or choose a smaller learning_rate"
    for method, options in (("partial_fit", {"classes": [0, 1]}), ("fit", {})):
        with pytest.raises(FloatingPointError, match=words):
            getattr(make(OPAUC), method)(1e6 * X, Y, **options)
    model = make(OPAUC).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(FloatingPointError, match=words):
        model.partial_fit(1e6 * X, Y)
    with pytest.raises(FloatingPointError, match=words):
        model.predict(X)
    with pytest.raises(FloatingPointError, match=words):
        model.partial_fit(X, Y)  # there is no way back ...
    assert np.isfinite(model.fit(X, Y).coef_).all()  # ... but to begin again


@every_size
@pytest.mark.parametrize(
    ("model", "area", "scores", "w"),
    [
        (OPAUC(0.05, 0.01), 0.5632, (-0.023935, 0.142445, 0.083564), (0.068550, 0.017126, -0.164484)),
    ],
)
def test_published_figures(model, area, scores, w, size):
    check_linear(model, area, scores, w, size)
