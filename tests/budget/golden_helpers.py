"""How the compiled one-pass learners are held to published figures.

300 rows of `waves`, scores of the next 300, kernel exp(−‖a − b‖²), no randomness. The figures are those that
the reference versions are held to; scores to 1e-5, areas under the curve to 1e-4, counts exactly.
"""

import numpy as np
import pytest
from sklearn.base import clone

from budget.budget_helpers import auc, waves
from budget.native_helpers import raw_scores, single
from reference.kernels import rbf
from svm.lasvm_helpers import in_blocks

K = single(rbf(1.0))
every_size = pytest.mark.parametrize("size", [47, 300])


def learn(model, area, scores, size):
    """Learn the stream in blocks; the scores of the next rows and their AUC are as published."""
    model = in_blocks(clone(model), *waves(1, 300), size, [-1, 1])
    X, y = waves(301, 600)
    f = raw_scores(model, X)
    assert auc(y, f) == pytest.approx(area, abs=1e-4)
    np.testing.assert_allclose(f[:3], scores, rtol=0, atol=1e-5)
    return model


def squared_norm(model):
    a = model.dual_coef_[0]
    return a @ K(model.support_vectors_, model.support_vectors_) @ a


def check_kept(model, area, scores, counts, others, size):
    """Scores, kept rows, mistakes, the squared norm, and other attributes are as published."""
    model = learn(model, area, scores, size)
    kept, mistakes, norm2 = counts
    assert (model.n_kept_, model.n_mistakes_.tolist(), model.n_iter_) == (kept, [mistakes], 300)
    assert squared_norm(model) == pytest.approx(norm2, abs=1e-4)
    assert {name: getattr(model, name)[0] for name in others} == pytest.approx(others, abs=1e-5)


def check_linear(model, area, scores, w, size):
    """Scores and weights are as published."""
    model = learn(model, area, scores, size)
    learned = model.coef_[0] if hasattr(model, "coef_") else model.dual_coef_[0] @ model.support_vectors_
    np.testing.assert_allclose(learned, w, rtol=0, atol=1e-5)


def accuracy(model, X, y):
    return np.mean((model.decision_function(X) > 0) == (y > 0))
