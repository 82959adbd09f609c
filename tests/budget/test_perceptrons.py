"""KernelPerceptron and its variants: published figures and weights."""

import numpy as np
import pytest

from budget.golden_helpers import accuracy, check_kept, check_linear, every_size
from budget.native_helpers import make
from everlearn import RBP, AveragedKernelPerceptron, BudgetKernelPerceptron, KernelPerceptron, Projectron
from reference.test_reference_golden import GAMMA, PERCEPTRONS
from reference.test_reference_lasvm_g import load
from svm.lasvm_helpers import assert_same, three_clouds


@pytest.mark.parametrize(
    "cls", [KernelPerceptron, AveragedKernelPerceptron, BudgetKernelPerceptron, RBP, Projectron]
)
def test_weights_that_are_all_the_same_only_scale_a_perceptron(cls):
    X, y = three_clouds(200, 3)
    plain, weighted = make(cls, average="mean"), make(cls, average="mean")
    plain.partial_fit(X, y, np.unique(y))
    weighted.partial_fit(X, y, np.unique(y), sample_weight=np.full(200, 2.0))
    assert_same(weighted.dual_coef_, 2 * plain.dual_coef_)
    assert_same(weighted.decision_function(X), 2 * plain.decision_function(X))


FIGURES = [  # learner; AUC; scores; kept rows, mistakes, squared norm; other attributes
    (KernelPerceptron(gamma=1), 0.9871, (-0.983685, -0.638427, -1.219371), (32, 32, 20.331497), {}),
]


@every_size
@pytest.mark.parametrize(("model", "area", "scores", "counts", "others"), FIGURES)
def test_published_figures(model, area, scores, counts, others, size):
    check_kept(model, area, scores, counts, others, size)


@every_size
@pytest.mark.parametrize(
    ("model", "area", "scores", "w"),
    [
        (
            KernelPerceptron(kernel="linear"),
            0.4869,
            (0.324246, 0.284984, -0.466184),
            (1.016937, 0.452302, -0.518688),
        ),
    ],
)
def test_published_linear_figures(model, area, scores, w, size):
    check_linear(model, area, scores, w, size)


@pytest.mark.parametrize(("name", "kind", "mistakes", "published"), PERCEPTRONS)
def test_published_figures_of_data_sets(name, kind, mistakes, published):
    X, y, X_test, y_test = load(name)
    model = {
        "plain": KernelPerceptron(gamma=GAMMA[name]),
        "vote": AveragedKernelPerceptron(gamma=GAMMA[name]),
        "budget": BudgetKernelPerceptron(50, gamma=GAMMA[name]),
    }[kind].partial_fit(X, y, classes=[-1, 1])
    assert model.n_mistakes_.tolist() == [mistakes]
    assert accuracy(model, X_test, y_test) == pytest.approx(published, abs=5.1e-5)
