"""The estimate of the fraction of positives: its reference version, bounds, unreliable cases."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import SubmodS3VM
from everlearn.semi._ratio import credible_shares, depths, estimate_ratio, smooth
from property_helpers import property_test
from reference import class_ratio
from reference.pessimistic_splits import draw_labeled, only
from reference.s3vm import from_rows
from semi.semi_helpers import breast_cancer, clouds, digits, gram, quarters


@property_test(100)
@given(quarters(st.integers(1, 12)))
def test_depths_are_those_of_the_twin(v):
    np.testing.assert_array_equal(depths(v), class_ratio.depths(v))
    np.testing.assert_array_equal(smooth(v), class_ratio.smooth(v))


@pytest.mark.parametrize("data", [breast_cancer, digits, lambda: clouds(150, 1, apart=2.5, share=0.3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_share_is_that_of_the_twin(data, seed, monkeypatch):
    X, y = data()
    chosen = np.random.default_rng(seed).permutation(len(y))[:150]
    X, y = X[chosen], y[chosen]
    known = only(y, draw_labeled(y, 6, np.random.default_rng(seed)))
    twin = class_ratio.estimate_ratio(gram(X), from_rows(X, known), known)
    numbers = np.where(known == 0, -1, known > 0).astype(int)
    ours = estimate_ratio(gram(X), numbers, 1.0, 1.0, credible=1.0)
    assert (ours.share, ours.reliable) == (twin.r, twin.reliable)
    assert ours.depth == pytest.approx(twin.depth, rel=1e-9)
    settings = {"kernel": "linear", "scaling": "none", "unlabeled": 0, "estimator": None}
    monkeypatch.setattr("everlearn.semi._transductive.estimate_ratio", partial(estimate_ratio, credible=1.0))
    clf = SubmodS3VM(**settings).fit(X, known)
    assert (clf.positive_fraction_, clf.fraction_reliable_, clf.fraction_depth_) == pytest.approx(
        (ours.share, ours.reliable, ours.depth)
    )


def test_labels_bound_the_share():
    """Clouds that overlap, a fifth positive: margins alone say anything, a hundred labels do not."""
    wrong = {1.0: [], 0.95: []}
    for seed in range(6):
        X, y = clouds(300, seed, apart=0.3, share=0.2)
        numbers = np.where(np.arange(300) < 100, y > 0, -1).astype(int)
        low, high = credible_shares(numbers[:100], 0.95)
        assert binomtest(int(np.sum(y[:100] > 0)), 100, low).pvalue < 0.1  # nearly Clopper and Pearson's
        assert binomtest(int(np.sum(y[:100] > 0)), 100, high).pvalue < 0.1
        for credible, errors in wrong.items():
            found = estimate_ratio(rbf_kernel(X, gamma=0.1), numbers, 1.0, 1.0, credible=credible)
            errors.append(abs(found.share - np.mean(y[100:] > 0)))
            if credible < 1:
                assert low - 1e-9 <= found.share <= high + 1e-9
    assert np.mean(wrong[0.95]) < 0.08 < np.mean(wrong[1.0])


def test_the_share_of_breast_cancer():
    """The figure: 0.64, estimated within 0.014 on average where the labels' own share is off by 0.183."""
    X, y = breast_cancer()
    wrong, naive = [], []
    for seed in range(5):
        known = np.full(len(y), np.nan)
        L = draw_labeled(y, 4, np.random.default_rng(seed))
        known[L] = y[L]
        clf = SubmodS3VM(kernel="linear", estimator=None).fit(X, known)
        assert clf.fraction_reliable_
        assert clf.fraction_depth_ > 0
        truth = np.mean(y[np.isnan(known)] > 0)
        wrong.append(abs(clf.positive_fraction_ - truth))
        naive.append(abs((np.sum(y[L] > 0) + 1) / 6 - truth))
    assert np.mean(wrong) < 0.04 < np.mean(naive)


def test_no_valley_no_estimate():
    X, _ = clouds(5, 0)
    clf = SubmodS3VM(estimator=None).fit(X, [0, 1, 1, None, None])
    assert (clf.positive_fraction_, clf.fraction_depth_, clf.fraction_reliable_) == (3 / 5, 0.0, False)
    clf = SubmodS3VM(positive_fraction=0.3, estimator=None).fit(X, [0, 1, 1, None, None])
    assert clf.fraction_reliable_
    assert np.isnan(clf.fraction_depth_)


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr("everlearn.semi._transductive.SAMPLE", 100)
    X, y = clouds(1500, 2, apart=3, share=0.4)
    known = np.where(np.arange(1500) < 300, y, np.nan)
    clf = SubmodS3VM(random_state=0, estimator=None).fit(X, known)
    assert clf.positive_fraction_ == pytest.approx(0.4, abs=0.05)
    again = SubmodS3VM(random_state=0, estimator=None).fit(X, known)
    assert again.positive_fraction_ == clf.positive_fraction_
