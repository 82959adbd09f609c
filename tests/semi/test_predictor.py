"""The rule for new rows that SubmodS3VM learns from given and found labels."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from everlearn import LASVM, SubmodS3VM
from reference.pessimistic_splits import draw_labeled
from semi.semi_helpers import clouds


def hide(y, L):
    """The labels of the rows L; NaN for all others."""
    known = np.full(len(y), np.nan)
    known[L] = y[L]
    return known


@pytest.mark.parametrize(("kernel", "kind"), [("linear", LinearSVC), ("rbf", LASVM), ("poly", LASVM)])
def test_the_rule_knows_the_labels(kernel, kind):
    X, y = clouds(400, 6, apart=2.5)
    known = hide(y, draw_labeled(y, 6, np.random.default_rng(0)))[:300]
    clf = SubmodS3VM(kernel=kernel, positive_fraction=0.5, random_state=0).fit(X[:300], known)
    assert isinstance(clf.estimator_, kind)
    assert clf.score(X[300:], y[300:]) > 0.93
    np.testing.assert_array_equal(clf.predict(X) > 0, clf.decision_function(X) > 0)


def test_a_kernel_rule_does_not_collapse_where_labels_are_few():
    X, y = clouds(600, 7, features=10, apart=1.5, share=0.3)
    known = hide(y, draw_labeled(y, 6, np.random.default_rng(0)))
    clf = SubmodS3VM(kernel="rbf", positive_fraction=0.3, random_state=0).fit(X, known)
    assert np.mean(clf.predict(X) == clf.transduction_) > 0.9


def test_the_rule_for_a_matrix():
    X, y = clouds(200, 8, apart=2.5)
    known = hide(y, draw_labeled(y, 6, np.random.default_rng(0)))[:150]
    K = rbf_kernel(X, X[:150], gamma=0.2)
    clf = SubmodS3VM(kernel="precomputed", positive_fraction=0.5, random_state=0).fit(K[:150], known)
    assert clf.score(K[150:], y[150:]) > 0.93


def test_found_labels_weigh_together_as_much_as_given_ones():
    seen = {}

    class Spy(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            seen["weight"] = sample_weight
            return super().fit(X, y, sample_weight)

    X, y = clouds(100, 9)
    known = hide(y, draw_labeled(y, 8, np.random.default_rng(0)))
    SubmodS3VM(positive_fraction=0.5, estimator=Spy()).fit(X, known)
    given_ones = ~np.isnan(known)
    assert set(seen["weight"][given_ones]) == {1.0}
    assert seen["weight"][~given_ones].sum() == pytest.approx(8)
    SubmodS3VM(estimator=Spy()).fit(X, y)
    assert seen["weight"] is None


def test_any_classifier_with_weights_and_none():
    X, y = clouds(100, 10, apart=3)
    known = hide(y, draw_labeled(y, 8, np.random.default_rng(0)))
    forest = RandomForestClassifier(20, random_state=0)
    clf = SubmodS3VM(positive_fraction=0.5, estimator=forest).fit(X, known)
    assert clf.score(X, y) > 0.95
    assert clf.estimator_ is not forest
    without = SubmodS3VM(positive_fraction=0.5, estimator=None).fit(X, known)
    np.testing.assert_array_equal(without.transduction_, clf.transduction_)
    with pytest.raises(ValueError, match="no classifier for new rows"):
        without.predict(X)
