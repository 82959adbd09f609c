"""The NumPy one-pass learners against published figures.

300 rows of `waves`, scores of the next 300, kernel exp(−‖a − b‖²), no randomness. The perceptrons and the
passive-aggressive learner also on the sets on which the SVMs are measured; those other than breast cancer
take part when EVERLEARN_DATA names their folder.
"""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from budget.budget_helpers import NO_LIMIT, auc, waves
from property_helpers import property_test
from reference.forgetron import ReferenceForgetron
from reference.kernel_pa import ReferenceKernelPA
from reference.kernels import linear, rbf
from reference.koil import ReferenceKOIL
from reference.norma import ReferenceNORMA
from reference.oam import ReferenceOAM
from reference.opauc import ReferenceOPAUC
from reference.perceptrons import (
    ReferenceAveragedKernelPerceptron,
    ReferenceBudgetKernelPerceptron,
    ReferenceKernelPerceptron,
)
from reference.projectron import ReferenceProjectron
from reference.test_reference_lasvm_g import load

K = rbf(1.0)
LITERAL = {"nearest": "all", "bootstrap": False, "keep_zeros": True}
KOIL = [  # budget, replacement, reading; kept rows; AUC; scores; sums of the coefficients; squared norm
    (20, "fifo++", {}, (20, 20), 0.9752, (-0.828241, 0.199611, 0.138461), (10.197110, -10.195128), 30.505452),
    (20, "fifo", {}, (20, 20), 0.9807, (-0.216931, 0.411048, 0.101628), (6.441534, -3.119777), 6.571516),
    (
        NO_LIMIT,
        "fifo",
        {},
        (77, 137),
        0.9994,
        (-0.640117, -0.677782, -0.629688),
        (11.423714, -11.421733),
        9.578216,
    ),
    (
        20,
        "fifo++",
        LITERAL,
        (20, 20),
        0.9889,
        (-0.514653, -0.096871, -0.755703),
        (6.261753, -6.261753),
        8.831169,
    ),
]
ONE_SET = [  # learner; AUC; scores; kept rows, mistakes, squared norm and what else it has
    (ReferenceKernelPerceptron(K), 0.9871, (-0.983685, -0.638427, -1.219371), (32, 32, 20.331497), {}),
    (ReferenceKernelPA(K, 0.5), 0.9979, (-1.601262, -1.490259, -1.849993), (120, 22, 43.375232), {}),
    (ReferenceNORMA(K, 40, 0.1, 0.1), 0.9693, (-0.391329, -0.312515, -0.289875), (40, 66, 1.001089), {}),
    (
        ReferenceNORMA(K, 40, 0.1, 0.1, rho=0.0, nu=0.37, fit_intercept=True),
        0.9704,
        (-0.353842, -0.254299, -0.318652),
        (40, 62, 0.255394),
        {"rho": 0.1, "b": -0.2},
    ),
    (
        ReferenceForgetron(K, 20),
        0.9807,
        (-0.659618, -0.164870, -0.532985),
        (20, 40, 5.178857),
        {"Q": 17.752569},
    ),
    (
        ReferenceProjectron(K, eta=0.2),
        0.9878,
        (-0.945941, -0.633768, -1.203896),
        (28, 32, 20.132828),
        {"n_projections": 4, "n_margin_steps": 0},
    ),
    (
        ReferenceProjectron(K, 20, eta=0.2),
        0.9739,
        (-0.810753, -0.461630, -1.500243),
        (20, 35, 20.779756),
        {"n_projections": 15, "n_margin_steps": 0},
    ),
    (
        ReferenceProjectron(K, eta=0.2, plus=True),
        0.9917,
        (-1.224296, -1.047423, -1.194103),
        (28, 36, 26.180315),
        {"n_projections": 8, "n_margin_steps": 8},
    ),
]


def agree(model, area, scores):
    """Learn the stream; the scores of the next rows and their AUC are as published."""
    model.run(*waves(1, 300))
    X, y = waves(301, 600)
    f = model.decide(X)
    assert auc(y, f) == pytest.approx(area, abs=5.1e-5)
    np.testing.assert_allclose(f[:3], scores, rtol=0, atol=6e-7)


def test_the_stream_has_77_positives_in_each_half():
    assert [np.sum(waves(*part)[1] > 0) for part in ((1, 300), (301, 600))] == [77, 77]


@pytest.mark.parametrize(
    ("budget", "replacement", "reading", "kept", "area", "scores", "sums", "norm2"), KOIL
)
def test_koil(budget, replacement, reading, kept, area, scores, sums, norm2):
    model = ReferenceKOIL(K, 4.0, 0.01, 5, budget, replacement, **reading)
    agree(model, area, scores)
    sets = [model.kept[y] for y in (1, -1)]
    assert tuple(map(len, sets)) == kept
    np.testing.assert_allclose([rows.a.sum() for rows in sets], sums, rtol=0, atol=6e-7)
    a, X = np.concatenate([rows.a for rows in sets]), np.vstack([rows.X for rows in sets])
    assert a @ K(X, X) @ a == pytest.approx(norm2, abs=6e-7)


@pytest.mark.parametrize(("model", "area", "scores", "counts", "others"), ONE_SET)
def test_one_set_of_rows(model, area, scores, counts, others):
    agree(model, area, scores)
    svs, mistakes, norm2 = counts
    assert (len(model), model.n_mistakes) == (svs, mistakes)
    assert model.a @ model.gram() @ model.a == pytest.approx(norm2, abs=6e-7)
    assert {name: getattr(model, name) for name in others} == pytest.approx(others, abs=6e-7)


def test_how_far_the_forgetron_shrinks_at_most():
    model, smallest = ReferenceForgetron(K, 20), 1.0
    for x, y in zip(*waves(1, 300), strict=True):
        model.learn(x, y)
        smallest = min(smallest, model.phi)
    assert smallest == pytest.approx(0.355272, abs=6e-7)


@pytest.mark.parametrize(
    ("model", "area", "scores", "w"),
    [
        (
            ReferenceKernelPerceptron(linear),
            0.4869,
            (0.324246, 0.284984, -0.466184),
            (1.016937, 0.452302, -0.518688),
        ),
        (
            ReferenceOAM(3, 0.1, NO_LIMIT),
            0.5287,
            (-1.924356, -0.102856, 1.337469),
            (-0.861897, 0.840475, -0.558356),
        ),
        (
            ReferenceOPAUC(3, 0.05, 0.01),
            0.5632,
            (-0.023935, 0.142445, 0.083564),
            (0.068550, 0.017126, -0.164484),
        ),
    ],
)
def test_linear(model, area, scores, w):
    agree(model, area, scores)
    learned = model.w if hasattr(model, "w") else model.a @ model.X
    np.testing.assert_allclose(learned, w, rtol=0, atol=6e-7)


# --- the sets of the SVMs ----------------------------------------------------------------------------------

GAMMA = {"wdbc": 0.02, "banana1000": 1, "usps2000": 1, "usps2000+N": 1}
PERCEPTRONS = [  # data, kind, mistakes, accuracy
    ("wdbc", "plain", 46, 0.9192),
    ("wdbc", "vote", 46, 0.9807),
    ("banana1000", "plain", 155, 0.8869),
    ("banana1000", "vote", 155, 0.8938),
    ("usps2000", "plain", 60, 0.9721),
    ("usps2000", "vote", 60, 0.9796),
    ("usps2000+N", "plain", 438, 0.9462),
    ("usps2000+N", "vote", 438, 0.9766),
    ("usps2000", "budget", 55, 0.9766),
    ("usps2000+N", "budget", 1012, 0.2785),  # the rule for removals breaks down under label noise
]
PASSIVE_AGGRESSIVE = [  # data (1000 rows), C, support vectors, accuracy
    ("wdbc", 1, 142, 0.9631),
    ("banana1000", 10, 357, 0.8900),
    ("usps2000", 1, 253, 0.9801),
    ("usps2000+N", 1, 533, 0.9791),
]
if not os.environ.get("EVERLEARN_DATA"):
    PERCEPTRONS, PASSIVE_AGGRESSIVE = (
        [row for row in rows if row[0] == "wdbc"] for rows in (PERCEPTRONS, PASSIVE_AGGRESSIVE)
    )


@pytest.mark.parametrize(("name", "kind", "mistakes", "accuracy"), PERCEPTRONS)
def test_perceptrons(name, kind, mistakes, accuracy):
    X, y, X_test, y_test = load(name)
    kernel = rbf(GAMMA[name])
    model = {
        "plain": ReferenceKernelPerceptron(kernel),
        "vote": ReferenceAveragedKernelPerceptron(kernel),
        "budget": ReferenceBudgetKernelPerceptron(kernel, 50),
    }[kind].run(X, y)
    assert model.n_mistakes == mistakes
    assert np.mean((model.decide(X_test) > 0) == (y_test > 0)) == pytest.approx(accuracy, abs=5.1e-5)


@pytest.mark.parametrize(("name", "C", "svs", "accuracy"), PASSIVE_AGGRESSIVE)
def test_passive_aggressive(name, C, svs, accuracy):
    X, y, X_test, y_test = load(name)
    model = ReferenceKernelPA(rbf(GAMMA[name]), C).run(X[:1000], y[:1000])
    assert len(model) == svs
    assert np.mean((model.decide(X_test) > 0) == (y_test > 0)) == pytest.approx(accuracy, abs=5.1e-5)


# --- the measure -------------------------------------------------------------------------------------------


@property_test(100)
@given(st.lists(st.tuples(st.sampled_from([-1, 1]), st.integers(-3, 3)), max_size=20))
def test_area_under_the_curve(pairs):
    y, f = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs], float)
    found = [[auc(y, g, ties) for g in (f, 2 * f + 3, np.exp(f), -f)] for ties in (0.5, 0)]
    if len(set(y.tolist())) < 2:
        assert np.isnan(found).all()
        return
    plus, minus = f[y > 0], f[y < 0]
    by_pairs = [sum((p > m) + ties * (p == m) for p in plus for m in minus) for ties in (0.5, 0)]
    for row, by_pair in zip(found, by_pairs, strict=True):
        np.testing.assert_allclose(row[:3], by_pair / len(plus) / len(minus), rtol=0, atol=1e-12)
    assert found[0][3] == pytest.approx(1 - found[0][0], abs=1e-12)
    assert found[0][0] == pytest.approx(roc_auc_score(y, f), abs=1e-12)
