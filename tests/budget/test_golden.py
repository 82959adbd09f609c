"""The compiled one-pass learners against published figures.

300 rows of `waves`, scores of the next 300, kernel exp(−‖a − b‖²), no randomness. The figures are those that
the plain twins are held to; scores to 1e-5, areas under the curve to 1e-4, counts exactly.
"""

import numpy as np
import pytest
from sklearn.base import clone

from budget.budget_helpers import auc, waves
from budget.native_helpers import kept_by_class, raw_scores, single
from everlearn import (
    KOIL,
    NORMA,
    OAM,
    OPAUC,
    RBP,
    AveragedKernelPerceptron,
    BudgetKernelPerceptron,
    Forgetron,
    KernelPA,
    KernelPerceptron,
    Projectron,
    ProjectronPP,
)
from reference.kernels import rbf
from reference.test_reference_golden import GAMMA, PASSIVE_AGGRESSIVE, PERCEPTRONS
from reference.test_reference_lasvm_g import load
from svm.lasvm_helpers import in_blocks

K = single(rbf(1.0))
KOIL_FIGURES = [  # parameters; kept rows; AUC; scores; sums of the coefficients; squared norm
    (
        {"replacement": "fifo++"},
        (20, 20),
        0.9752,
        (-0.828241, 0.199611, 0.138461),
        (10.197110, -10.195128),
        30.505452,
    ),
    (
        {"replacement": "fifo"},
        (20, 20),
        0.9807,
        (-0.216931, 0.411048, 0.101628),
        (6.441534, -3.119777),
        6.571516,
    ),
    (
        {"budget": None},
        (77, 137),
        0.9994,
        (-0.640117, -0.677782, -0.629688),
        (11.423714, -11.421733),
        9.578216,
    ),
    (
        {"replacement": "fifo++", "literal": True, "neighbors_of": "all"},
        (20, 20),
        0.9889,
        (-0.514653, -0.096871, -0.755703),
        (6.261753, -6.261753),
        8.831169,
    ),
]
ONE_SET = [  # learner; AUC; scores; kept rows, mistakes, squared norm; what else it tells
    (KernelPerceptron(gamma=1), 0.9871, (-0.983685, -0.638427, -1.219371), (32, 32, 20.331497), {}),
    (KernelPA(0.5, gamma=1), 0.9979, (-1.601262, -1.490259, -1.849993), (120, 22, 43.375232), {}),
    (
        NORMA(40, learning_rate=0.1, alpha=0.1, gamma=1),
        0.9693,
        (-0.391329, -0.312515, -0.289875),
        (40, 66, 1.001089),
        {"rho_": 1.0, "intercept_": 0.0},
    ),
    (
        NORMA(40, learning_rate=0.1, alpha=0.1, rho=0.0, nu=0.37, fit_intercept=True, gamma=1),
        0.9704,
        (-0.353842, -0.254299, -0.318652),
        (40, 62, 0.255394),
        {"rho_": 0.1, "intercept_": -0.2},
    ),
    (
        Forgetron(20, gamma=1),
        0.9807,
        (-0.659618, -0.164870, -0.532985),
        (20, 40, 5.178857),
        {"deviation_": 17.752569},
    ),
    (
        Projectron(None, max_projection_error=0.2, gamma=1),
        0.9878,
        (-0.945941, -0.633768, -1.203896),
        (28, 32, 20.132828),
        {"n_projections_": 4},
    ),
    (
        Projectron(20, max_projection_error=0.2, gamma=1),
        0.9739,
        (-0.810753, -0.461630, -1.500243),
        (20, 35, 20.779756),
        {"n_projections_": 15},
    ),
    (
        ProjectronPP(None, max_projection_error=0.2, gamma=1),
        0.9917,
        (-1.224296, -1.047423, -1.194103),
        (28, 36, 26.180315),
        {"n_projections_": 8, "n_margin_steps_": 8},
    ),
]
LINEAR = [  # learner; AUC; scores; weights
    (
        KernelPerceptron(kernel="linear"),
        0.4869,
        (0.324246, 0.284984, -0.466184),
        (1.016937, 0.452302, -0.518688),
    ),
    (OAM(2**31 - 1, C=0.1), 0.5287, (-1.924356, -0.102856, 1.337469), (-0.861897, 0.840475, -0.558356)),
    (OPAUC(0.05, 0.01), 0.5632, (-0.023935, 0.142445, 0.083564), (0.068550, 0.017126, -0.164484)),
]
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


@every_size
@pytest.mark.parametrize(("options", "kept", "area", "scores", "sums", "norm2"), KOIL_FIGURES)
def test_koil(options, kept, area, scores, sums, norm2, size):
    usual = {"budget": 20, "n_neighbors": 5, "C": 4.0, "learning_rate": 0.01, "gamma": 1}
    model = learn(KOIL(**usual | options), area, scores, size)
    assert kept_by_class(model).tolist() == [list(kept)]
    a = model.dual_coef_[0]
    np.testing.assert_allclose([a[a > 0].sum(), a[a < 0].sum()], sums, rtol=0, atol=1e-5)
    assert squared_norm(model) == pytest.approx(norm2, abs=1e-4)


@every_size
@pytest.mark.parametrize(("model", "area", "scores", "counts", "others"), ONE_SET)
def test_one_set_of_rows(model, area, scores, counts, others, size):
    model = learn(model, area, scores, size)
    kept, mistakes, norm2 = counts
    assert (model.n_kept_, model.n_mistakes_.tolist(), model.n_iter_) == (kept, [mistakes], 300)
    assert squared_norm(model) == pytest.approx(norm2, abs=1e-4)
    assert {name: getattr(model, name)[0] for name in others} == pytest.approx(others, abs=1e-5)


@pytest.mark.parametrize("cls", [RBP, Forgetron])
def test_a_budget_that_is_never_reached_leaves_the_kernel_perceptron(cls):
    _, area, scores, (kept, *_), _ = ONE_SET[0]
    assert learn(cls(kept, gamma=1), area, scores, 300).n_kept_ == kept


def test_how_far_the_forgetron_shrinks_at_most():
    X, y = waves(1, 300)
    model, smallest = Forgetron(20, gamma=1), 1.0
    for row in range(300):
        before = dict(zip(model.support_, model.dual_coef_[0], strict=True)) if row else {}
        model.partial_fit(X[[row]], y[[row]], classes=[-1, 1])
        after = dict(zip(model.support_, model.dual_coef_[0], strict=True))
        smallest = min([smallest, *(after[id] / a for id, a in before.items() if id in after)])
    assert smallest == pytest.approx(0.355272, abs=1e-5)


@every_size
@pytest.mark.parametrize(("model", "area", "scores", "w"), LINEAR)
def test_linear(model, area, scores, w, size):
    model = learn(model, area, scores, size)
    learned = model.coef_[0] if hasattr(model, "coef_") else model.dual_coef_[0] @ model.support_vectors_
    np.testing.assert_allclose(learned, w, rtol=0, atol=1e-5)


# --- the sets of the SVMs; those other than breast cancer need EVERLEARN_DATA -------------------------------


def accuracy(model, X, y):
    return np.mean((model.decision_function(X) > 0) == (y > 0))


@pytest.mark.parametrize(("name", "kind", "mistakes", "published"), PERCEPTRONS)
def test_perceptrons(name, kind, mistakes, published):
    X, y, X_test, y_test = load(name)
    model = {
        "plain": KernelPerceptron(gamma=GAMMA[name]),
        "vote": AveragedKernelPerceptron(gamma=GAMMA[name]),
        "budget": BudgetKernelPerceptron(50, gamma=GAMMA[name]),
    }[kind].partial_fit(X, y, classes=[-1, 1])
    assert model.n_mistakes_.tolist() == [mistakes]
    assert accuracy(model, X_test, y_test) == pytest.approx(published, abs=5.1e-5)


@pytest.mark.parametrize(("name", "C", "svs", "published"), PASSIVE_AGGRESSIVE)
def test_passive_aggressive(name, C, svs, published):
    X, y, X_test, y_test = load(name)
    model = KernelPA(C, gamma=GAMMA[name]).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    assert model.n_kept_ == svs
    assert accuracy(model, X_test, y_test) == pytest.approx(published, abs=5.1e-5)
