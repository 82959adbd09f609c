"""SubmodS3VM in shards: with products of features, the labels of one machine."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from everlearn import SubmodS3VM
from everlearn.semi.shards import ShardLabeling, is_labeled


class Here:
    """Products with features that are all here, in two parts."""

    def __init__(self, Z):
        self.parts = np.array_split(Z, 2)

    def sums(self, weights):
        return sum(Z.T @ own for Z, own in zip(self.parts, np.array_split(weights, 2), strict=True))

    def project(self, columns):
        return np.concatenate([Z @ columns for Z in self.parts])


@pytest.mark.parametrize("n_class", [2, 3])
def test_labels_are_those_of_one_machine(n_class):
    X, digit = load_digits(n_class=n_class, return_X_y=True)
    known = np.arange(len(X)) < 20
    y = np.where(known, digit, np.nan)
    learner = SubmodS3VM(random_state=0, solver="fast", estimator=None)
    labeling = ShardLabeling.of(learner, X, y)
    Z = labeling.map.features(X)
    highest = np.square(Z[~known]).sum(axis=1).max()
    found = labeling.solve(Here(Z[~known]), int((~known).sum()), highest, Z[known], y[known])
    central = learner.fit(X, y)
    np.testing.assert_array_equal(central.classes_[found.numbers], central.transduction_[~known])
    np.testing.assert_allclose(found.scores, central.scores_[~known], rtol=1e-9)
    assert found.objective == pytest.approx(central.objective_, rel=1e-9)


def test_what_counts_as_a_label():
    np.testing.assert_array_equal(is_labeled(np.array([1.0, np.nan]), None), [True, False])
    np.testing.assert_array_equal(
        is_labeled(np.array(["a", "?", None], dtype=object), "?"), [True, False, False]
    )
