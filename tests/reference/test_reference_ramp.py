"""The NumPy ramp-loss SVMs against published figures, their invariants, and a generic solver.

Figures are for the first 1000 rows in the order given and an RBF kernel, see `load`; data sets other than
breast cancer take part when EVERLEARN_DATA names their folder.
"""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from property_helpers import property_test
from reference.lasvm_g import ReferenceGap
from reference.offline_ramp import offline_ramp, ramp_objective
from reference.partner import best_steps
from reference.ramp import ReferenceOnlineRamp, asvmr, greedy
from reference.test_reference_lasvm import problems
from reference.test_reference_lasvm_g import box_qp, load

OFFLINE = [  # data, C, gamma, objectives, rows on the slope, support vectors, accuracy
    ("wdbc", 1, 0.02, "63.6279 63.5061", "568 568", 105, 0.9859),
    (
        "banana1000",
        10,
        1,
        "1825.95 1768.3291 1760.2956 1760.1365 1759.7866",
        "978 974 973 972 972",
        150,
        0.8985,
    ),
    ("usps2000", 1, 1, "62.9377 62.9377", "1000 1000", 168, 0.9865),
    ("usps2000+N", 1, 1, "254.6249 251.7922 251.2931 251.0834", "973 968 966 966", 344, 0.9851),
]
ONLINE = [  # data, C, gamma, what is kept or asked, support vectors, accuracy, objective or labels asked
    ("wdbc", 1, 0.02, "all", 106, 0.9859, 63.532),
    ("wdbc", 1, 0.02, "100", 106, 0.9859, None),
    ("wdbc", 1, 0.02, "0", 98, 0.9842, None),
    ("wdbc", 1, 0.02, "asvmr", 103, 0.9859, 178),
    ("wdbc", 1, 0.02, "hinge", 109, 0.9859, None),
    ("wdbc", 1, 0.02, "greedy", 73, 0.9772, 113),
    ("banana1000", 10, 1, "all", 135, 0.9008, 1755.29),
    ("banana1000", 10, 1, "100", 126, 0.8977, None),
    ("banana1000", 10, 1, "0", 70, 0.8877, None),
    ("banana1000", 10, 1, "asvmr", 117, 0.8954, 221),
    ("banana1000", 10, 1, "hinge", 225, 0.9015, None),
    ("banana1000", 10, 1, "greedy", 88, 0.9000, 200),
    ("usps2000", 1, 1, "all", 169, 0.9865, 63.021),
    ("usps2000", 1, 1, "100", 169, 0.9865, None),
    ("usps2000", 1, 1, "0", 150, 0.9865, None),
    ("usps2000", 1, 1, "asvmr", 165, 0.9856, 317),
    ("usps2000", 1, 1, "hinge", 170, 0.9865, None),
    ("usps2000", 1, 1, "greedy", 120, 0.9846, 200),
    ("usps2000+N", 1, 1, "all", 245, 0.9851, 250.30),
    ("usps2000+N", 1, 1, "100", 242, 0.9851, None),
    ("usps2000+N", 1, 1, "0", 217, 0.9836, None),
    ("usps2000+N", 1, 1, "asvmr", 225, 0.9851, 376),
    ("usps2000+N", 1, 1, "hinge", 474, 0.9865, None),
    ("usps2000+N", 1, 1, "greedy", 148, 0.9875, 200),
]
if not os.environ.get("EVERLEARN_DATA"):
    OFFLINE, ONLINE = ([row for row in rows if row[0] == "wdbc"] for rows in (OFFLINE, ONLINE))


def thousand(name, gamma):
    """Kernel matrix and labels of the first 1000 rows, kernel rows and labels of the test rows."""
    X, y, X_test, y_test = load(name)
    X, y = X[:1000], y[:1000]
    return rbf_kernel(X, gamma=gamma), y, rbf_kernel(X_test, X, gamma=gamma), y_test


# --- figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["active_set", "cccp"])
@pytest.mark.parametrize(("name", "C", "gamma", "objectives", "sizes", "svs", "accuracy"), OFFLINE)
def test_offline(name, C, gamma, objectives, sizes, svs, accuracy, variant):
    K, y, K_test, y_test = thousand(name, gamma)
    alpha, sets, found = offline_ramp(K, y, C, -1.0, variant)
    assert found == pytest.approx([float(value) for value in objectives.split()], rel=1e-6)
    assert [np.count_nonzero(V) for V in sets] == [int(size) for size in sizes.split()]
    assert np.count_nonzero(alpha) == svs
    assert np.mean((K_test @ (y * alpha) > 0) == (y_test > 0)) == pytest.approx(accuracy, abs=1e-4)


@pytest.mark.parametrize(("name", "C", "gamma", "how", "svs", "accuracy", "value"), ONLINE)
def test_online(name, C, gamma, how, svs, accuracy, value):
    K, y, K_test, y_test = thousand(name, gamma)
    options = {"100": {"max_idle": 100}, "0": {"max_idle": 0}, "hinge": {"s": -np.inf}}.get(how, {})
    model = ReferenceOnlineRamp(K, y, C, **options)
    ask = {"asvmr": asvmr, "greedy": greedy}.get(how)
    if ask is not None:
        assert len(ask(model, range(len(y)))) == value
    else:
        model.run(range(len(y)))
        assert value is None or model.objective() == pytest.approx(value, rel=1e-5)
    assert np.count_nonzero(model.alpha) == svs
    assert np.mean((model.decision(K_test) > 0) == (y_test > 0)) == pytest.approx(accuracy, abs=1e-4)


# --- invariants --------------------------------------------------------------------------------------------


SLOPES = st.sampled_from([-0.937, -0.313, -0.011, -np.inf])  # on a grid z = −1 and z = 0 are ties


class Watched(ReferenceOnlineRamp):
    """Checks what must hold after every row."""

    def learn(self, t):
        known, f, capped = t in self.I, self.decision(self.K), self.n_capped
        g = 1 - self.y[t] * f[t]
        super().learn(t)
        if self.n_capped == capped:
            self.check()
        if known or g < -1e-9 or g > 1 - self.s + 1e-9:
            np.testing.assert_array_equal(self.decision(self.K), f)
        return self

    def check(self):
        rows, alpha, C = self.I, self.alpha[self.I], self.C[self.I]
        g = (1 - self.Q @ self.alpha)[rows]
        np.testing.assert_allclose(self.g[rows], g, rtol=0, atol=1e-8 * (1 + self.C.max()))
        assert np.all((alpha >= 0) & (alpha <= C))
        assert not np.any(np.delete(self.alpha, rows))
        np.testing.assert_array_equal(self.V[rows], self.g[rows] <= 1 - self.s)
        assert not np.any(np.delete(self.V, rows))
        assert not self.alpha[~self.V].any()
        _, gain = best_steps(alpha, g, self.K[rows, rows], 0, C)
        violates = (alpha < C) & (g > self.tol) | (alpha > 0) & (g < -self.tol)
        assert max(gain[violates & self.V[rows]], default=0) < self.min_gain + 1e-8
        assert self.max_idle is None or np.count_nonzero(alpha == 0) <= self.max_idle

    def remove(self):
        f, idle = self.decision(self.K), [i for i in self.I if self.alpha[i] == 0]
        super().remove()
        np.testing.assert_array_equal(self.decision(self.K), f)
        gone = [i for i in idle if i not in self.I]
        if gone:
            stay = [i for i in idle if i in self.I]
            assert len(stay) == self.max_idle
            far = np.abs(1 - self.g)
            assert max(far[stay], default=0) <= min(far[gone])
            ties = [(i, k) for i in stay for k in gone if far[i] == far[k]]
            assert all(idle.index(i) < idle.index(k) for i, k in ties)


@property_test(150)
@given(problems(), SLOPES, st.sampled_from([None, 0, 1, 3]))
def test_every_row_keeps_the_invariants(problem, s, max_idle):
    K, y, C, order = problem
    model = Watched(K, y, C, s, max_idle=max_idle).run([*order, *order])
    assert max_idle is not None or list(order) == model.I


@property_test(100)
@given(problems(), st.sampled_from([-0.937, -0.011]))
def test_with_tight_tolerances_a_row_costs_at_most_its_own_loss(problem, s):
    K, y, C, order = problem
    model = ReferenceOnlineRamp(K, y, C, s, tol=1e-9, min_gain=1e-13)
    for t in order:
        loss = C[t] * np.clip(1 - y[t] * model.decision(K[t]), 0, 1 - s)
        before = model.objective()
        assert model.learn(t).objective() <= before + loss + 1e-4 * (1 + before)


@property_test(100)
@given(problems(), SLOPES, st.sampled_from(["active_set", "cccp"]))
def test_offline_rounds_never_rise_and_end_in_a_fixed_point(problem, s, variant):
    K, y, C, _ = problem
    Q = y[:, None] * K * y
    alpha, sets, objectives = offline_ramp(K, y, C, s, variant)
    assert np.all(np.diff(objectives) <= 1e-5 * (1 + objectives[0]))
    assert objectives[-1] == pytest.approx(ramp_objective(Q, alpha, C, s))
    np.testing.assert_array_equal(sets[-1], sets[-2])
    V, g = sets[-1], 1 - Q @ alpha
    np.testing.assert_array_equal(V, g <= 1 - s)
    low, high = np.where(V | (variant == "active_set"), 0, -C), np.where(V, C, 0)
    assert np.all((alpha >= low) & (alpha <= high))
    assert best_steps(alpha, g, K.diagonal(), low, high)[1].max() <= 1e-10


@property_test(100)
@given(problems())
def test_without_an_end_the_ramp_is_the_hinge_in_any_order(problem):
    K, y, C, order = problem
    exact = K @ box_qp(K, y, C)
    for visits in (order, order[::-1]):
        model = ReferenceOnlineRamp(K, y, C, -np.inf, tol=1e-7, min_gain=1e-13).run(visits)
        np.testing.assert_allclose(model.decision(K), exact, rtol=0, atol=2e-3)
    full = ReferenceGap(K, y, C, tau=1e-6, mode="full").run(order).finish()
    np.testing.assert_allclose(model.decision(K), full.decision(K), rtol=0, atol=1e-3)
    alpha, _, _ = offline_ramp(K, y, C, -np.inf)
    np.testing.assert_allclose(K @ (y * alpha), full.decision(K), rtol=0, atol=1e-3)


@property_test(60)
@given(problems(), SLOPES)
def test_negated_labels_give_the_mirror_image(problem, s):
    K, y, C, order = problem
    model, mirror = (ReferenceOnlineRamp(K, labels, C, s).run(order) for labels in (y, -y))
    np.testing.assert_array_equal(mirror.decision(K), -model.decision(K))


@property_test(60)
@given(problems(), SLOPES)
def test_room_for_all_zeros_is_no_removal(problem, s):
    K, y, C, order = problem
    model, roomy = (ReferenceOnlineRamp(K, y, C, s, max_idle=m).run(order) for m in (None, len(y)))
    np.testing.assert_array_equal(model.alpha, roomy.alpha)
    assert model.I == roomy.I


# --- labels on request -------------------------------------------------------------------------------------


@property_test(60)
@given(problems(), st.integers(1, 6))
def test_only_the_labels_asked_for_matter(problem, h):
    K, y, C, order = problem

    def run(labels, ask, *options):
        model = ReferenceOnlineRamp(K, labels, C)
        asked = ask(model, order, *options)
        assert asked == model.I
        return model, asked

    for ask, options in ((asvmr, ()), (greedy, (h,))):
        model, asked = run(y, ask, *options)
        hidden = np.where(np.isin(np.arange(len(y)), asked), y, -y)
        other, again = run(hidden, ask, *options)
        assert again == asked
        np.testing.assert_array_equal(model.decision(K), other.decision(K))
    assert len(asked) == len(y) // h
    everything = ReferenceOnlineRamp(K, y, C).run(order)
    np.testing.assert_array_equal(run(y, greedy, 1)[0].alpha, everything.alpha)


# --- edge cases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_one_class_only(label):
    model = ReferenceOnlineRamp(2 * np.eye(4), np.full(4, label), C=10).run(range(4))
    np.testing.assert_array_equal(model.alpha, np.full(4, 0.5))
    assert ReferenceOnlineRamp(np.eye(1), [label], C=0.25).run([0]).alpha[0] == 0.25


def test_a_row_of_no_length_goes_to_the_end_of_its_box():
    model = ReferenceOnlineRamp(np.zeros((2, 2)), [1, -1], C=3.0).run([0, 1])
    np.testing.assert_array_equal(model.alpha, [3.0, 3.0])
    assert model.objective() == 6.0


def test_opposite_duplicates_oppose_each_other():
    model = ReferenceOnlineRamp(np.ones((2, 2)), [1, -1], C=3.0, s=-np.inf).run([0, 1])
    np.testing.assert_array_equal(model.alpha, [3.0, 3.0])
    assert model.decision(np.ones(2)) == 0
    model = ReferenceOnlineRamp(np.ones((3, 3)), [1, 1, -1], C=3.0, s=-0.5).run([0, 1, 2])
    assert model.alpha[2] == 0  # at z = -1 it is beyond the ramp
    assert model.decision(np.ones(3)) == 1


def test_who_is_pushed_beyond_the_ramp_is_unlearned():
    """One row against five of the opposite label in its place: in the end its loss is flat."""
    y = np.array([1.0, *[-1.0] * 5])
    model = ReferenceOnlineRamp(np.ones((6, 6)), y, C=0.3, s=-0.5).run(range(6))
    assert model.alpha[0] == 0
    assert not model.V[0]
    assert model.decision(np.ones(6)) == pytest.approx(-1, abs=5e-3)


def test_rounds_that_take_turns_are_cut_off():
    """In the solution row 0 lies at the end of the ramp; a coarse one has it beyond only if it is learned."""
    K = np.array([[10, -1, -9, -12], [-1, 5, 3, -3], [-9, 3, 9, 9], [-12, -3, 9, 18]])
    assert ReferenceOnlineRamp(K, np.ones(4), C=0.1).run(range(4)).n_capped == 1
    assert Watched(K, np.ones(4), C=0.1, tol=1e-7, min_gain=1e-10).run(range(4)).n_capped == 0


def test_flat_beyond_the_ramp():
    Q = np.diag([1.0, 1.0])
    assert ramp_objective(Q, np.array([0.5, 0.0]), np.array([1.0, 2.0]), -1.0) == 0.125 + 0.5 + 2.0
    assert ramp_objective(-Q, np.array([9.0, 0.0]), np.array([1.0, 2.0]), -1.0) == -40.5 + 2.0 + 2.0
