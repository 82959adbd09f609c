"""The exact SVM on rows along a curve, all of one class until the last, and its fallback.

While one class is known all coefficients are 0 and every row is on the margin: all events up to the first
solution with two classes are at length 0, and the order of ties decides whether the system of the margin set
stays well conditioned.
"""

import itertools

import numpy as np
import pytest

import everlearn
from everlearn import IDSVM
from reference.idsvm import ReferenceIDSVM
from svm.idsvm_helpers import rbf
from svm.idsvm_native_helpers import KERNELS, Compiled, Refused, known, same_as_svc
from svm.lasvm_helpers import assert_same, three_clouds, two_clouds

CURVES = {
    "line": lambda t: t[:, None],
    "parabola": lambda t: np.c_[t, t**2],
    "circle": lambda t: np.c_[np.cos(6 * t), np.sin(6 * t)],
    "helix": lambda t: np.c_[np.cos(6 * t), np.sin(6 * t), t],
    "every point twice": lambda t: np.repeat(t, 2)[: len(t), None],
    "nearly twice": lambda t: np.repeat(t, 2)[: len(t), None] + 1e-9 * np.sin(50 * t)[:, None],
}
FAMILY = {
    "wide": {"kernel": "rbf", "gamma": 0.1},
    "rbf": {"kernel": "rbf", "gamma": 1.0},
    "narrow": {"kernel": "rbf", "gamma": 10.0},
    "cubic": {"kernel": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 3},
    "linear": {"kernel": "linear"},
}
PROMISED = 1e-7  # by how much a condition may be violated


def stream(curve, n, order, C, family):
    """A machine that knows nothing yet, and n rows along a curve, the last one positive."""
    numbers = {"up": np.arange(n), "down": np.arange(n)[::-1], "inside out": np.roll(np.arange(n), n // 2)}
    X = CURVES[curve](np.linspace(0, 1, n))[numbers[order]]
    return Compiled(X, np.where(np.arange(n) < n - 1, -1, 1), np.ones(n), C=C, **FAMILY[family])


def live(machine, after=lambda: None):
    """Learn all rows; then forget some, relabel some, lose the positive class and get it back."""
    n = len(machine.y)
    for i in range(n):
        machine.add(i)
        after()
    for what, i in [
        ("remove", n // 2),
        ("remove", 0),
        ("flip", 1),
        ("flip", n - 2),
        ("remove", n - 1),
        ("flip", 1),
        ("flip", n - 2),
        ("add", 0),
        ("add", n - 1),
        ("add", n // 2),
    ]:
        getattr(machine, what)(i)
        after()
    return machine


def test_twelve_points_of_a_line():
    X, y = np.linspace(0, 1, 12)[:, None], np.where(np.arange(12) < 11, -1, 1)
    model = IDSVM(gamma=1.0).partial_fit(X, y, classes=[-1, 1])
    assert model.residual_ < PROMISED
    assert model.n_fallbacks_ == 0


@pytest.mark.parametrize("family", FAMILY)
@pytest.mark.parametrize("curve", CURVES)
def test_svc_agrees_and_the_conditions_hold(curve, family):
    for n, C, order in itertools.product([6, 12, 24], [0.1, 100.0], ["up", "down", "inside out"]):
        machine = stream(curve, n, order, C, family)
        for i in range(n):
            machine.add(i)
        assert machine.residual() < PROMISED
        same_as_svc(machine, within=1e-3 * max(1.0, C))
        assert machine.model.n_fallbacks_ == 0


@pytest.mark.parametrize("family", FAMILY)
@pytest.mark.parametrize("curve", CURVES)
def test_forgetting_and_relabeling_keep_the_conditions(curve, family):
    for n, C in itertools.product([8, 25], [1.0, 100.0]):
        machine = stream(curve, n, "up", C, family)

        def holds(machine=machine):
            assert machine.residual() < PROMISED

        live(machine, holds)
        same_as_svc(machine, within=1e-3 * C)
        assert machine.model.n_fallbacks_ == 0


@pytest.mark.parametrize("curve", CURVES)
def test_the_twin_agrees(curve):
    for n, C in itertools.product([6, 12], [0.1, 10.0]):
        machine = stream(curve, n, "up", C, "rbf")
        twin = ReferenceIDSVM(machine.K, machine.y, C)
        for i in range(n):
            machine.add(i)
            twin.add(i)
            assert machine.b == pytest.approx(twin.b, abs=1e-7)
        np.testing.assert_allclose(machine.decision(), twin.decision(machine.K), rtol=0, atol=1e-7)
        assert twin.n_fallbacks == 0


def test_saved_on_the_way_it_goes_on_bit_for_bit(tmp_path):
    for curve, family in itertools.product(CURVES, ["rbf", "cubic"]):
        machine = stream(curve, 14, "up", 10.0, family)
        X, y = machine.X, machine.y
        one = IDSVM(**machine.options).partial_fit(X[:9], y[:9], classes=[-1, 1])
        everlearn.save(one, tmp_path / "model")
        other = everlearn.load(tmp_path / "model")
        for model in (one, other):
            model.partial_fit(X[9:], y[9:]).forget([2, 5]).relabel([3], [1]).forget(13)
        assert_same(known(other), known(one))


# --- the fallback -------------------------------------------------------------------------------------------


def impatient(model):
    """The learner solves from scratch wherever a row needs more than one step."""
    model._machine.native.set_most_steps(1)
    return model


@pytest.mark.parametrize("family", FAMILY)
@pytest.mark.parametrize("curve", CURVES)
def test_from_scratch_the_solution_is_the_same(curve, family):
    machine, fallback = (stream(curve, 16, "inside out", 10.0, family) for _ in range(2))

    def holds():
        impatient(fallback.model)
        assert fallback.residual() < PROMISED

    live(machine)
    live(fallback, holds)
    assert fallback.model.n_fallbacks_ > 0
    f, g = machine.decision(), fallback.decision()
    np.testing.assert_allclose(f, g, rtol=0, atol=1e-7 * (1 + abs(f).max()))


@pytest.mark.parametrize("kernel", KERNELS)
def test_from_scratch_on_noisy_classes(kernel):
    """With coefficients at both ends of their boxes and many inside; afterwards the path goes on."""
    X, y = two_clouds(150, 2, seed=3)
    y = np.where(np.random.default_rng(0).random(150) < 0.1, 1 - y, y)
    path = IDSVM(C=3.0, **KERNELS[kernel]).partial_fit(X, y, classes=[0, 1])
    cold = IDSVM(C=3.0, **KERNELS[kernel]).partial_fit(X[:149], y[:149], classes=[0, 1])
    for model in (path, cold):
        model.forget([5, 60])
    impatient(cold).partial_fit(X[149:], y[149:], ids=[149]).forget([10, 20]).relabel([30], [1 - y[30]])
    assert cold.n_fallbacks_ > 0
    cold._machine.native.set_most_steps(0)
    before = cold.n_fallbacks_
    path.forget([10, 20]).relabel([30], [1 - y[30]])
    for model in (path, cold):
        model.forget([40, 41]).partial_fit(X[:1], y[:1], ids=[500])
        assert model.residual_ < PROMISED
    assert cold.n_fallbacks_ == before
    np.testing.assert_allclose(
        cold.decision_function(X), path.decision_function(X), rtol=0, atol=1e-7 * (1 + abs(X).max()) ** 3
    )


def test_from_scratch_with_several_classes_and_after_fit():
    X, y = three_clouds(90)
    cold = impatient(IDSVM(C=3.0, gamma=0.5).fit(X[:80], y[:80])).partial_fit(X[80:], y[80:]).forget([1, 7])
    path = IDSVM(C=3.0, gamma=0.5).fit(np.delete(X, [1, 7], axis=0), np.delete(y, [1, 7]))
    assert cold.n_fallbacks_ > 0
    np.testing.assert_allclose(cold.decision_function(X), path.decision_function(X), rtol=0, atol=1e-7)


def test_saved_after_a_fallback_it_goes_on_bit_for_bit(tmp_path):
    X, y = three_clouds(120)
    one = impatient(IDSVM(C=3.0, gamma=0.5).partial_fit(X[:60], y[:60], classes=["ash", "oak", "yew"]))
    one.partial_fit(X[60:80], y[60:80])
    one.forget([3, 4])
    assert one.n_fallbacks_ > 0
    everlearn.save(one, tmp_path / "model")
    other = everlearn.load(tmp_path / "model")
    one._machine.native.set_most_steps(0)
    for model in (one, other):
        model.partial_fit(X[80:], y[80:]).forget(model.ids_[::7]).relabel([1, 2], y[[50, 51]])
    assert other.n_fallbacks_ == one.n_fallbacks_
    assert_same(known(other), known(one))


def test_from_scratch_an_indefinite_kernel_is_refused():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 2)) * rng.choice([1, 10], (40, 1)), rng.choice([-1, 1], 40)
    K, refusals = np.tanh(0.3 * X @ X.T - 1), 0
    model = IDSVM(kernel="precomputed", C=10.0).partial_fit(K[:1], y[:1], classes=[-1, 1])
    for i in range(1, 40):
        impatient(model)
        before = known(model)
        try:
            model.partial_fit(K[[i]], y[[i]], ids=[i])
            assert model.residual_ < 1e-6
        except ValueError as error:
            refusals += "not positive semi-definite" in str(error)
            assert_same(known(model), before)
    assert refusals > 0


def test_from_scratch_a_precomputed_kernel():
    X, y = two_clouds(40, 2)
    K = rbf(X, 0.5)
    cold = IDSVM(C=5.0, kernel="precomputed").partial_fit(K[:30], y[:30], classes=[0, 1])
    impatient(cold).partial_fit(K[30:], y[30:]).forget([3, 8])
    path = IDSVM(C=5.0, kernel="precomputed").partial_fit(K, y, classes=[0, 1]).forget([3, 8])
    assert cold.n_fallbacks_ > 0
    np.testing.assert_allclose(cold.decision_function(K), path.decision_function(K), rtol=0, atol=1e-8)
    with Refused(cold, "no row with the id 3"):
        cold.forget(3)
