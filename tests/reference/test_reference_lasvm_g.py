"""The NumPy LASVM-G and its relatives against published figures, their invariants, and a generic solver.

Figures are for rows in the order given and an RBF kernel, see `load`; data sets other than breast cancer take
part when EVERLEARN_DATA names their folder.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel

from property_helpers import property_test
from reference.lasvm_g import ReferenceGap
from reference.test_reference_lasvm import problems

ROUNDING = 1e-9
FIGURES = [  # data, C, gamma, mode, support vectors, dual, accuracy, rows marked or skipped
    ("wdbc", 1, 0.02, "full", 124, 62.396, 0.9859, 0),
    ("wdbc", 1, 0.02, "g", 124, 62.396, 0.9859, 0),
    ("wdbc", 1, 0.02, "nc", 124, 62.396, 0.9859, 0),
    ("wdbc", 1, 0.02, "i", 125, 62.376, 0.9859, 149),
    ("wdbc", 1, 0.02, "i0", 123, None, None, 395),
    ("wdbc", 100, 0.02, "full", 66, 764.82, 0.9982, 0),
    ("wdbc", 100, 0.02, "g", 66, 764.82, 0.9982, 0),
    ("wdbc", 100, 0.02, "nc", 66, 764.82, 0.9982, 0),
    ("wdbc", 100, 0.02, "i", 66, 764.82, 0.9982, 0),
    ("wdbc", 100, 0.02, "i0", 41, None, None, 472),
    ("banana1000", 10, 1, "full", 254, 1901.3, 0.9023, 0),
    ("banana1000", 10, 1, "g", 254, 1892.3, 0.8992, 0),
    ("banana1000", 10, 1, "nc", 185, 1367.2, 0.9008, 24),
    ("banana1000", 10, 1, "i", 202, 1410.5, 0.8962, 552),
    ("banana1000", 10, 1, "i0", 177, None, None, 747),
    ("usps2000", 1, 1, "full", 226, 83.248, 0.9910, 0),
    ("usps2000", 1, 1, "g", 229, 83.257, 0.9910, 0),
    ("usps2000", 1, 1, "nc", 223, 81.624, 0.9910, 1),
    ("usps2000", 1, 1, "i", 219, 81.516, 0.9910, 1466),
    ("usps2000", 1, 1, "i0", 215, None, None, 1609),
    ("usps2000+N", 1, 1, "full", 831, 482.60, 0.9880, 0),
    ("usps2000+N", 1, 1, "g", 856, 481.18, 0.9895, 0),
    ("usps2000+N", 1, 1, "nc", 357, 159.77, 0.9895, 155),
    ("usps2000+N", 1, 1, "i", 374, 169.91, 0.9885, 1433),
    ("usps2000+N", 1, 1, "i0", 334, None, None, 1519),
]
if not os.environ.get("EVERLEARN_DATA"):
    FIGURES = [row for row in FIGURES if row[0] == "wdbc"]


def load(name):
    """Return training rows and labels, test rows and labels."""
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True)
        X, y = (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == 1, 1.0, -1.0)
        return X, y, X, y
    with np.load(
        Path(os.environ["EVERLEARN_DATA"]) / f"{'banana' if name == 'banana1000' else 'usps'}.npz"
    ) as file:
        data = {key: file[key] for key in file}
    X, y = data["X"].astype(float), data["y"].astype(float)
    if name == "banana1000":
        return X[:1000], y[:1000], X[4000:], y[4000:]
    X, y = X / np.linalg.norm(X, axis=1, keepdims=True), np.where(y == 0, 1.0, -1.0)
    train, test = data["train_idx"][:2000], data["test_idx"]
    if name == "usps2000+N":
        y[train[3::10]] *= -1
    return X[train], y[train], X[test], y[test]


def in_mode(mode, K, y, C, **options):
    """The learner of that mode; "i0" is LASVM-I without a warm-up."""
    options |= {"min_support": 0} if mode == "i0" else {}
    return ReferenceGap(K, y, C, mode=mode.strip("0"), **options)


def n_sv(model):
    return np.count_nonzero(model.alpha)


# --- figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "C", "gamma", "mode", "svs", "W", "accuracy", "beyond"), FIGURES)
def test_one_epoch_in_the_given_order(name, C, gamma, mode, svs, W, accuracy, beyond):
    X, y, X_test, y_test = load(name)
    model = in_mode(mode, rbf_kernel(X, gamma=gamma), y, C).run(range(len(y)))
    assert n_sv(model) == pytest.approx(svs, abs=1)
    assert len(model.outliers) + len(model.skipped) == pytest.approx(beyond, abs=0.01 * beyond)
    if W is not None:
        assert model.dual() == pytest.approx(W, rel=1e-4)
        right = (model.decision(rbf_kernel(X_test, X, gamma=gamma)) > 0) == (y_test > 0)
        assert np.mean(right) == pytest.approx(accuracy, abs=1e-3)


if os.environ.get("EVERLEARN_DATA"):  # the digits are not shipped

    @pytest.mark.parametrize(
        ("mode", "evaluations", "tolerance"),
        [("full", 1_999_000, 0), ("g", 1_246_100, 0), ("nc", 891_400, 0), ("i", 561_070, 0.02)],
    )
    def test_kernel_evaluations_on_noisy_digits(mode, evaluations, tolerance):
        X, y, _, _ = load("usps2000+N")
        model = in_mode(mode, rbf_kernel(X, gamma=1), y, 1).run(range(len(y)))
        assert model.n_evaluations == pytest.approx(evaluations, rel=tolerance, abs=0)


# --- invariants --------------------------------------------------------------------------------------------


MODES = st.sampled_from(["g", "full", "nc", "i"])


class Watched(ReferenceGap):
    """Checks what must hold after every operation."""

    def check(self, dual_before):
        S, K, a = self.S, self.K, self.alpha
        assert len(set(S)) == len(S)
        assert np.all((a >= self.A) & (a <= self.B))
        assert not np.any(np.delete(a, S))
        np.testing.assert_allclose(self.g[S], (self.y - K @ a)[S], rtol=0, atol=1e-8)
        assert self.dual() >= dual_before - ROUNDING * (1 + abs(dual_before))
        z, cost, turned = self.y * (K @ a), np.abs(self.edge), self.A * self.y + self.B * self.y < 0
        loss = np.where(turned, np.maximum(0, z - 1), np.maximum(0, 1 - z))
        primal = 0.5 * a @ K @ a + cost[S] @ loss[S]
        assert self.gap() >= 0
        assert self.gap() == pytest.approx(primal - self.dual(), rel=1e-7, abs=1e-7 * (1 + primal))
        assert np.all(a[turned] * self.y[turned] <= 0)
        assert self.mode == "nc" or not turned.any()

    def process(self, i):
        dual, known, z = self.dual(), i in self.S, self.y[i] * self.decision(self.K[i])
        warm, marked, skipped = self.ramp_works(i), len(self.outliers), len(self.skipped)
        new = super().process(i)
        self.check(dual)
        beyond = warm and not known and z < self.s
        assert len(self.outliers) - marked == (self.mode == "nc" and beyond)
        easy = warm and not known and z > 1
        assert len(self.skipped) - skipped == (self.mode == "i" and (beyond or easy))
        assert new == (not known and len(self.skipped) == skipped)
        if self.mode == "i" and new and warm:
            assert self.s <= z <= 1
        return new

    def reprocess(self, with_partner=False):
        dual = self.dual()
        moved = super().reprocess(with_partner)
        self.check(dual)
        return moved

    def clean(self, m):
        before, f = self.dual(), self.decision(self.K)
        gone = super().clean(m)
        self.check(before)
        np.testing.assert_array_equal(self.decision(self.K), f)
        idle = [s for s in self.S if self.alpha[s] == 0]
        assert len(idle) <= m
        assert not self.alpha[gone].any()
        slack = np.where(self.B > 0, -self.g, self.g)
        assert max(slack[idle], default=-np.inf) <= min(slack[gone], default=np.inf)
        assert len(idle) == m or not gone
        return gone

    def visit(self, i):
        threshold, skipped = max(self.largest_cost, self.target()), len(self.skipped)
        super().visit(i)
        if len(self.skipped) == skipped and self.gap() > threshold:
            assert self.violation() <= self.tau

    def violation(self):
        up = [self.g[s] for s in self.S if self.alpha[s] < self.B[s]]
        down = [-self.g[s] for s in self.S if self.alpha[s] > self.A[s]]
        return max(up + down, default=0)


@property_test(150)
@given(
    problems(),
    MODES,
    st.sampled_from([-0.937, -0.011, -0.213]),
    st.sampled_from([0, 3]),
    st.sampled_from([0, 9**9]),
)
def test_every_operation_keeps_the_invariants(problem, mode, s, min_support, single_steps):
    K, y, C, order = problem
    options = {"mode": mode, "s": s, "min_support": min_support, "clean_every": 4, "max_idle": 2}
    options["single_steps"] = single_steps
    model = Watched(K, y, C, **options).run(order, epochs=2, final_clean=False)
    assert mode != "full" or set(model.S) == set(order)
    assert model.finish().violation() <= model.tau
    model.clean(0)
    assert set(model.S) == set(np.flatnonzero(model.alpha))


def box_qp(K, y, C):
    """Signed coefficients of the largest W in the box between 0 and C y, by a generic solver."""
    best = minimize(
        lambda a: (0.5 * a @ K @ a - a @ y, K @ a - y),
        np.zeros(len(y)),
        jac=True,
        method="SLSQP",
        bounds=list(zip(np.minimum(0, C * y), np.maximum(0, C * y), strict=True)),
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return best.x


@property_test(100)
@given(problems(), st.booleans())
def test_the_finished_full_svm_is_the_solution_of_the_box_problem(problem, one_class):
    K, y, C, order = problem
    y = np.ones_like(y) if one_class else y
    model = ReferenceGap(K, y, C, tau=1e-6, mode="full").run(order).finish()
    exact = box_qp(K, y, C)
    assert model.dual() == pytest.approx(exact @ y - 0.5 * exact @ K @ exact, rel=1e-5)
    np.testing.assert_allclose(model.decision(K), K @ exact, rtol=0, atol=2e-3)
    assert model.gap() <= model.tau * C.sum() + ROUNDING


@property_test(60)
@given(problems())
def test_without_an_end_the_ramp_is_the_hinge_and_without_cleaning_nothing_is_lost(problem):
    K, y, C, order = problem
    options = {"clean_every": 3, "max_idle": 1, "min_support": 0}
    plain, ramp = (
        ReferenceGap(K, y, C, mode=mode, s=-np.inf, **options).run(order, 2) for mode in ("g", "nc")
    )
    np.testing.assert_array_equal(ramp.alpha, plain.alpha)
    assert ramp.S == plain.S
    full = ReferenceGap(K, y, C, mode="full").run(order, 2)
    never = ReferenceGap(K, y, C, clean_every=10**9).run(order, 2, final_clean=False)
    np.testing.assert_array_equal(full.alpha, never.alpha)
    assert full.S == never.S


@property_test(60)
@given(problems(), MODES)
def test_negated_labels_give_the_mirror_image(problem, mode):
    K, y, C, order = problem
    options = {"mode": mode, "min_support": 2, "clean_every": 4, "max_idle": 1}
    model, mirror = (ReferenceGap(K, labels, C, **options).run(order, 2) for labels in (y, -y))
    np.testing.assert_allclose(mirror.decision(K), -model.decision(K), rtol=0, atol=1e-6)


def test_noise_makes_the_ramp_sparser_and_cheaper():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    y[rng.random(600) < 0.15] *= -1
    K, modes = rbf_kernel(X, gamma=1), ("i", "nc", "g", "full")
    models = [ReferenceGap(K, y, 5, mode=mode).run(range(600)) for mode in modes]
    evaluations = [model.n_evaluations for model in models]
    assert evaluations == sorted(evaluations)
    skipping, marking, plain, _ = map(n_sv, models)
    assert max(skipping, marking) < 0.75 * plain


# --- edge cases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["g", "full", "nc", "i"])
@pytest.mark.parametrize("first", [1.0, -1.0])
def test_a_class_that_comes_late_is_learned(mode, first):
    """Hundreds of rows of one class first: all rows of the other are on the wrong side as they come."""
    rng = np.random.default_rng(0)
    y = np.repeat([first, -first], [500, 200])
    X = rng.standard_normal((700, 2))
    X[:, 0] += 1.5 * y
    model = ReferenceGap(rbf_kernel(X, gamma=0.5), y, 10, mode=mode).run(range(700))
    right = model.decision(model.K) * y > 0
    assert min(np.mean(right[:500]), np.mean(right[500:])) > 0.8


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_one_class_only(label):
    model = ReferenceGap(np.eye(4), np.full(4, label), C=0.5).run(range(4)).finish()
    np.testing.assert_array_equal(model.alpha, np.full(4, 0.5 * label))


def test_a_common_offset_of_the_gradients_is_a_violation():
    """Two orthogonal rows whose gradients are equal are no violating pair, and far from optimal."""
    model = ReferenceGap(np.eye(2), [1, 1], C=10.0)
    model.process(0), model.process(1)
    model.alpha[:], model.g[:] = 0.5, 0.5
    model.finish()
    np.testing.assert_allclose(model.alpha, 1, rtol=0, atol=1e-3)


def test_a_row_of_no_length_goes_to_the_end_of_its_box():
    model = ReferenceGap(np.zeros((2, 2)), [1, -1], C=3.0).run([0, 1]).finish()
    np.testing.assert_array_equal(model.alpha, [3.0, -3.0])


def test_opposite_duplicates_cancel():
    model = ReferenceGap(np.ones((2, 2)), [1, -1], C=3.0, mode="full").run([0, 1]).finish()
    np.testing.assert_allclose(model.alpha, [3.0, -3.0], rtol=0, atol=3e-3)
    assert abs(model.decision(np.ones(2))) < 1e-2


def test_a_step_to_the_end_of_the_box_stores_the_end_itself():
    rng = np.random.default_rng(0)
    for C, part in rng.random((200, 2)):
        model = ReferenceGap(np.full((1, 1), 1e-3), [1], C)
        model.S, model.alpha[0], model.g[0] = [0], C * part, 1.0
        model.move(0)
        assert model.alpha[0] == C
        model.g[0] = -1.0
        model.move(0)
        assert model.alpha[0] == 0


def test_of_equal_slacks_the_older_row_stays():
    model = ReferenceGap(np.zeros((4, 4)), [1, 1, 1, 1])
    model.S, model.g[:] = [2, 0, 3, 1], [-1.0, -1.0, -1.0, -2.0]
    assert model.clean(2) == [1, 3]
    assert model.S == [2, 0]


def test_an_empty_model_does_nothing():
    model = ReferenceGap(np.eye(2), [1, -1])
    assert not model.reprocess()
    assert (model.gap(), model.target(), model.clean(0)) == (0, 0, [])
