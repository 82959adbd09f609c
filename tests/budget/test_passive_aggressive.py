"""KernelPA: its variants beside River's linear ones, the optimality of a step, weights, and what is saved."""

import numpy as np
import pytest
from river.linear_model import PAClassifier
from sklearn.metrics.pairwise import rbf_kernel

from budget.golden_helpers import accuracy, check_kept, every_size
from everlearn import KernelPA, load, save
from reference.test_reference_golden import GAMMA, PASSIVE_AGGRESSIVE
from reference.test_reference_lasvm_g import load as load_data

MODES = {"PA": 0, "PA-I": 1, "PA-II": 2}
all_variants = pytest.mark.parametrize("variant", MODES)


def noisy(n=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, np.where(X @ [1.0, -2.0, 0.5] + random.normal(0, 0.7, n) > 0, 1, -1)


@all_variants
def test_with_a_linear_kernel_it_is_rivers_classifier(variant):
    X, y = noisy()
    model = KernelPA(0.05, variant=variant, kernel="linear").partial_fit(X, y, classes=[-1, 1])
    theirs = PAClassifier(C=0.05, mode=MODES[variant], learn_intercept=False)
    for row, label in zip(X, y, strict=True):
        theirs.learn_one(dict(enumerate(row)), bool(label > 0))
    w = np.array([theirs.weights[j] for j in range(3)])
    np.testing.assert_allclose(
        model.decision_function(X), X @ w, rtol=1e-5, atol=1e-5
    )  # kernel values in single precision


def test_the_variants_differ():
    X, y = noisy()
    found = [
        KernelPA(0.05, variant=variant, gamma=0.5).partial_fit(X, y, classes=[-1, 1]).decision_function(X)
        for variant in MODES
    ]
    assert all(np.abs(a - b).max() > 0.1 for a, b in zip(found, [*found[1:], found[0]], strict=True))


def test_pa_clears_every_row_when_it_comes():
    X, y = noisy(60)
    model = KernelPA(variant="PA", gamma=2.0)
    for row, label in zip(X, y, strict=True):
        model.partial_fit([row], [label], classes=[-1, 1])
        assert label * model.decision_function([row])[0] >= 1 - 1e-6


def test_pa_ii_minimizes_the_change_plus_the_squared_loss():
    """No other coefficient of the new row has a lower objective, and no change of the old rows' either."""
    X, y = noisy(40)
    C = 0.4
    model = KernelPA(C, variant="PA-II", gamma=0.5).partial_fit(X[:-1], y[:-1], classes=[-1, 1])
    before = np.zeros(40)
    before[model.support_] = model.dual_coef_[0]
    model.partial_fit(X[-1:], y[-1:])
    after = np.zeros(40)
    after[model.support_] = model.dual_coef_[0]
    K = rbf_kernel(X, gamma=0.5)

    def objective(alpha):
        change = alpha - before
        loss = max(0.0, 1 - y[-1] * (K[-1] @ alpha))
        return 0.5 * change @ K @ change + C * loss**2

    best = objective(after)
    random = np.random.default_rng(0)
    assert after[-1] != 0
    assert all(
        best <= objective(after + random.normal(0, scale, 40)) for scale in (1e-3, 0.1) for _ in range(50)
    )
    for step in (-1e-3, 1e-3):
        assert best < objective(after + step * np.eye(40)[-1])


def test_weights_multiply_c_and_pa_has_none():
    X, y = noisy()
    for variant in MODES:
        plain = KernelPA(0.1, variant=variant).partial_fit(X, y, classes=[-1, 1])
        weighted = KernelPA(0.05, variant=variant).partial_fit(
            X, y, classes=[-1, 1], sample_weight=np.full(300, 2)
        )
        np.testing.assert_array_equal(weighted.decision_function(X), plain.decision_function(X))
    other = KernelPA(7.0, variant="PA").partial_fit(X, y, classes=[-1, 1])
    without = KernelPA(0.1, variant="PA").partial_fit(X, y, classes=[-1, 1])
    np.testing.assert_array_equal(other.decision_function(X), without.decision_function(X))


@all_variants
def test_a_saved_learner_goes_on(variant, tmp_path):
    X, y = noisy()
    model = KernelPA(0.2, variant=variant).partial_fit(X[:150], y[:150], classes=[-1, 1])
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.variant == variant
    for each in (model, loaded):
        each.partial_fit(X[150:], y[150:])
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))


def test_files_without_a_variant_are_pa_i():
    X, y = noisy()
    model = KernelPA(0.2).partial_fit(X, y, classes=[-1, 1])
    state = model._get_state()
    del state["params"]["variant"], state["machine"]["parameters"]["variant"]
    loaded = KernelPA._from_state(state)
    assert loaded.variant == "PA-I"
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


FIGURES = [  # learner; AUC; scores; kept rows, mistakes, squared norm; other attributes
    (KernelPA(0.5, gamma=1), 0.9979, (-1.601262, -1.490259, -1.849993), (120, 22, 43.375232), {}),
]


@every_size
@pytest.mark.parametrize(("model", "area", "scores", "counts", "others"), FIGURES)
def test_published_figures(model, area, scores, counts, others, size):
    check_kept(model, area, scores, counts, others, size)


@pytest.mark.parametrize(("name", "C", "svs", "published"), PASSIVE_AGGRESSIVE)
def test_published_figures_of_data_sets(name, C, svs, published):
    X, y, X_test, y_test = load_data(name)
    model = KernelPA(C, gamma=GAMMA[name]).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    assert model.n_kept_ == svs
    assert accuracy(model, X_test, y_test) == pytest.approx(published, abs=5.1e-5)
