"""Which labeled rows speak for and against a prediction, whatever the order of their labels."""

import numpy as np
import pytest

from everlearn import LASVM, AdaptiveSVM, NeverEndingLearner
from everlearn.adaptive import Expert


def labeled_out_of_order(learner, n=80):
    """A stream of points in the plane, of which half are labeled, the last ones first."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(n, 2))
    y = ["yes" if a * b > 0 else "no" for a, b in X]
    stream = NeverEndingLearner.open(":memory:", learner, scaling="none", random_state=0)
    stream.step(X, ids=[f"r{k}" for k in range(n)])
    for k in range(n - 1, n // 2, -1):
        stream.label([f"r{k}"], [y[k]])
    return stream, X, y


def test_they_are_those_with_the_largest_contributions():
    """The oracle finds support vectors by their values, not by their ids."""
    stream, X, y = labeled_out_of_order(LASVM(C=10.0, gamma=2.0))
    with stream:
        model, row = stream.learner_, X[:1]
        kernel = np.exp(-2.0 * np.square(model.support_vectors_ - row).sum(axis=1))
        values = kernel * model.dual_coef_.ravel() * (1 if model.predict(row)[0] == "yes" else -1)
        names = [int(np.square(X - vector).sum(axis=1).argmin()) for vector in model.support_vectors_]
        found = stream.support_for(row, n=4)
        for speaks, sign in (("for", 1), ("against", -1)):
            order = [at for at in np.argsort(-sign * values) if sign * values[at] > 0][:4]
            mine = [support for support in found if support.speaks == speaks]
            assert [support.id for support in mine] == [f"r{names[at]}" for at in order]
            assert [support.label for support in mine] == [y[names[at]] for at in order]
            shares = np.abs(values[order]) / np.abs(values).sum()
            np.testing.assert_allclose([support.share for support in mine], shares, rtol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_those_of_the_default_learner_speak_for_their_own_class(classes):
    """With an RBF kernel, a row speaks for the class of its label, and against the others."""
    stream, X, _ = labeled_out_of_order(AdaptiveSVM(experts=[Expert("rbf")]))
    with stream:
        if classes == 3:
            stream.label(["r0", "r1", "r2"], ["maybe"] * 3)
        for row in (X[:1], X[5:6], X[70:71]):
            found = stream.support_for(row)
            assert {support.speaks for support in found} == {"for", "against"}
            if classes == 2:
                assert all((support.label == support.of) == (support.speaks == "for") for support in found)
            rows = np.array([X[int(support.id[1:])] for support in found if support.speaks == "for"])
            assert np.square(rows - row).sum(axis=1).mean() < np.square(X - row).sum(axis=1).mean()
