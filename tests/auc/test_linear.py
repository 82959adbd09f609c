"""What OAM and OPAUC share: long streams, and one learner for each class."""

import numpy as np
import pytest

from auc.auc_helpers import learn_both, oam, opauc
from budget.budget_helpers import clouds
from svm.lasvm_helpers import three_clouds


def test_long_streams():
    X, y = clouds(6000, seed=1, features=3, share=0.1)  # more rows than go to the core at once
    for twins in (oam(3, 5, 3), opauc(3, 0, 3, 0.01), opauc(3, 2, 3, 0.01)):
        learn_both(*twins, X, y, [1, 4500, 1499])


@pytest.mark.parametrize(
    "maker",
    [
        lambda c: oam(3, 4, 6, column=c),
        lambda c: opauc(3, 0, 6, column=c),
        lambda c: opauc(3, 2, 6, column=c),
    ],
    ids=["oam", "opauc", "sketch"],
)
def test_each_class_of_a_linear_learner_is_learned_against_the_rest(maker):
    X, y = three_clouds(200, 3)
    native = maker(0)[0].partial_fit(X, y, classes=["ash", "oak", "yew"])
    for column, label in enumerate(native.classes_):
        twin = maker(column)[1].run(X, np.where(y == label, 1, -1))
        np.testing.assert_allclose(native.coef_[column], twin.w, rtol=1e-9, atol=1e-12)
    scores = native.decision_function(X)
    np.testing.assert_array_equal(native.predict(X), native.classes_[scores.argmax(axis=1)])
