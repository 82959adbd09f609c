"""The exact SVM after every addition, removal and relabeling: figures, twin, `SVC`, its conditions.

Figures: breast cancer (Wisconsin, diagnostic), columns standardized, rows in the given order, RBF kernel.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from everlearn import IDSVM
from property_helpers import property_test
from reference.idsvm import ReferenceIDSVM
from svm.idsvm_helpers import happen, problems, stories
from svm.idsvm_native_helpers import KERNELS, Compiled, first_rows, gram, learned, native_stories, same_as_svc
from svm.lasvm_helpers import two_clouds

JITTERS = (1e-9, 1e-7, 1e-5, 1e-3)
PRECOMPUTED = {"kernel": "precomputed"}


def scores(model, X):
    return model.decision_function(X)


def close(a, b, within):
    np.testing.assert_allclose(a, b, rtol=0, atol=within)


# --- figures ------------------------------------------------------------------------------------------------


def at_cost(model):
    return int(np.sum(abs(model.dual_coef_[0]) == model.C))


def test_the_first_120_rows(wdbc, first_120):
    X, y = wdbc
    assert first_120.objective_ == pytest.approx([21.92407216], abs=1e-6)
    assert first_120.intercept_ == pytest.approx([-0.45484045], abs=1e-6)
    theta = first_120.dual_coef_[0]
    K = gram(KERNELS["rbf"] | {"gamma": 1 / 30}, first_120.support_vectors_)
    assert theta @ K @ theta == pytest.approx(23.93528381, abs=1e-5)
    assert (first_120.n_margin_.tolist(), at_cost(first_120)) == ([29], 21)
    assert (first_120.n_kept_, first_120.n_iter_, first_120.n_fallbacks_) == (120, 120, 0)
    exact = SVC(gamma=1 / 30, tol=1e-9).fit(X[:120], y[:120])
    close(scores(first_120, X), exact.decision_function(X), 1e-5)


@pytest.mark.parametrize("by", ["one", "many", "window"])
def test_the_second_half_alone(wdbc, by):
    model = first_rows(wdbc, 120, window=60 if by == "window" else None)
    for ids in {"one": range(60), "many": [np.arange(60)[::-1]], "window": []}[by]:
        model.forget(ids)
    np.testing.assert_array_equal(model.ids_, np.arange(60, 120))
    assert model.objective_ == pytest.approx([15.48354382], abs=1e-6)
    assert model.intercept_ == pytest.approx([-0.07950085], abs=1e-6)
    assert (model.n_margin_.tolist(), at_cost(model), model.n_kept_) == ([19], 15, 60)
    assert model.residual_ < 1e-10


# --- after every event --------------------------------------------------------------------------------------


@property_test(120)
@given(native_stories())
def test_after_every_event_the_conditions_hold_and_svc_agrees(story):
    X, y, C, kernel, events = story
    machine = Compiled(X, y, C, **kernel)
    for event in events:
        if happen(machine, event):
            residual = machine.residual()
            assert residual < 1e-7
            assert machine.model.residual_ == pytest.approx(residual, abs=1e-7)
            same_as_svc(machine)
    assert machine.model.n_fallbacks_ == 0


@property_test(80)
@given(native_stories(jitters=JITTERS))
def test_nearly_repeated_rows_keep_the_conditions(story):
    """`SVC` keeps kernel values in single precision and cannot tell such rows apart."""
    X, y, C, kernel, events = story
    machine = Compiled(X, y, C, **kernel)
    for event in events:
        if happen(machine, event):
            assert machine.residual() < 1e-7
    assert machine.model.n_fallbacks_ == 0


@property_test(80)
@given(stories())
def test_the_twin_agrees_after_every_event(story):
    """Kernel values of up to 361: 1e-11 of them on the diagonal moves f by 1e-6 where C is 1000."""
    K, y, C, events = story
    machine, twin = Compiled(K, y, C, **PRECOMPUTED), ReferenceIDSVM(K, y, C)
    for event in events:
        if not happen(machine, event):
            continue
        happen(twin, event)
        np.testing.assert_array_equal(np.sort(machine.rows), twin.rows)
        close(machine.decision() - machine.b, twin.decision(K) - twin.b, 5e-6)
        assert machine.b == pytest.approx(twin.b, abs=5e-6)
        assert machine.model.objective_ == pytest.approx([twin.dual()], rel=1e-7, abs=1e-7)


@property_test(60)
@given(stories(single=True))
def test_svc_agrees_on_kernel_values_of_its_own_precision(story):
    K, y, C, events = story
    machine = Compiled(K, y, C, **PRECOMPUTED)
    for event in events:
        if happen(machine, event):
            same_as_svc(machine)


@pytest.mark.parametrize("C", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_svc_agrees_along_a_longer_stream(kernel, C):
    """At C = 1000 the single precision in which `SVC` keeps kernel values alone moves its f by 1e-3."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((130, 2)) / 2
    y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(130) > 0, 1, -1)
    machine = Compiled(X, y, np.ones(130), C=C, **KERNELS[kernel])
    waiting = list(rng.permutation(130))
    for turn in range(260):
        rows, kind = machine.rows, rng.random()
        if waiting and (kind < 0.6 or len(rows) < 3):
            machine.add(int(waiting.pop()))
        elif kind < 0.85:
            waiting.insert(0, int(rng.choice(rows)))
            machine.remove(int(waiting[0]))
        else:
            machine.flip(int(rng.choice(rows)))
        if turn % 10 == 0:
            assert machine.residual() < 1e-7
            same_as_svc(machine)
    assert machine.model.n_fallbacks_ == 0


@pytest.mark.parametrize("size", [1e2, 1e4, 1e5])
def test_one_long_row_does_not_blur_the_others(size):
    """With a linear kernel its K_ii is up to 1e10 times that of the others: their f must not know of it."""
    X, y = two_clouds(60, 2)
    X[7] *= size
    y = np.where(y == 1, 1, -1)
    machine = learned(X, y, np.ones(60), range(60), kernel="linear", C=10.0)
    rest = np.delete(np.arange(60), 7)
    exact = SVC(kernel="linear", C=10.0, tol=1e-7).fit(X, y)
    close(scores(machine.model, X[rest]), exact.decision_function(X[rest]), 1e-4)
    machine.remove(7)
    never = learned(X, y, np.ones(60), rest, kernel="linear", C=10.0)
    close(scores(machine.model, X[rest]), scores(never.model, X[rest]), 1e-7)


@pytest.mark.parametrize("distance", [10.0, 100.0, 1000.0])
def test_nearly_repeated_rows_far_from_the_origin(distance):
    """|a|^2 + |b|^2 - 2 <a, b> has an error of 1e-16 of the norms, here 1e-10: so have kernel values."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = np.repeat(distance * rng.standard_normal((4, 2)), 4, axis=0)
        X, y = X * (1 + 1e-13 * rng.standard_normal(X.shape)), rng.choice([-1, 1], 16)
        model = IDSVM(gamma=1.0).partial_fit(X, y, classes=[-1, 1]).forget([0, 5]).relabel(1, -y[1])
        assert model.residual_ < 1e-7


# --- what does not matter -----------------------------------------------------------------------------------


@property_test(60)
@given(problems(), st.data())
def test_added_and_forgotten_is_as_if_it_had_never_come(problem, data):
    K, y, C = problem
    guest = data.draw(st.integers(0, len(y) - 1))
    machine = learned(K, y, C, [i for i in range(len(y)) if i != guest], **PRECOMPUTED)
    f, objective = machine.decision(), machine.model.objective_
    machine.add(guest)
    machine.remove(guest)
    close(machine.decision(), f, 1e-8 * max(1, C.max() * K.diagonal().max() / 1000))
    assert machine.model.objective_ == pytest.approx(objective, rel=1e-9, abs=1e-9)


@property_test(60)
@given(native_stories(), st.data())
def test_the_order_of_arrival_does_not_matter(story, data):
    X, y, C, kernel, _ = story
    order = data.draw(st.permutations(range(len(y))))
    one, other = learned(X, y, C, range(len(y)), **kernel), learned(X, y, C, order, **kernel)
    close(one.decision(), other.decision(), 1e-7)


@property_test(60)
@given(native_stories(), st.integers(1, 20))
def test_fit_blocks_and_single_rows_agree(story, size):
    X, y, C, kernel, _ = story
    single = learned(X, y, C, range(len(y)), **kernel).model
    blocks = IDSVM(**kernel)
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        blocks.partial_fit(X[part], y[part], classes=[-1, 1], sample_weight=C[part])
    close(scores(blocks, X), scores(single, X), 1e-7)
    np.testing.assert_array_equal(blocks.ids_, np.arange(len(y)))
    if len(set(y)) == 2:
        whole = IDSVM(**kernel).fit(X, y, sample_weight=C)
        close(scores(whole, X), scores(single, X), 1e-7)
        assert whole.objective_ == pytest.approx(single.objective_, rel=1e-7, abs=1e-7)
        assert whole.residual_ < 1e-8
        assert whole.n_fallbacks_ == 0


def test_fit_on_more_rows_than_a_block_holds():
    X, y = two_clouds(400, 3)
    for options in ({"C": 1.0}, {"C": 300.0, "gamma": 2.0}, {"C": 1.0, "kernel": "linear"}):
        whole, stream = IDSVM(**options).fit(X, y), IDSVM(**options).partial_fit(X, y, classes=[0, 1])
        close(scores(whole, X), scores(stream, X), 1e-7)
        exact = SVC(tol=1e-6, **options).fit(X, y)
        close(scores(whole, X), exact.decision_function(X), 1e-4)
        assert whole.n_iter_ == stream.n_iter_ == 400
        assert max(whole.residual_, stream.residual_) < 1e-8


@property_test(40)
@given(native_stories())
def test_the_objective_rises_with_every_row_and_falls_with_every_one_forgotten(story):
    X, y, C, kernel, _ = story
    machine, found = Compiled(X, y, C, **kernel), [0.0]
    for act in (machine.add, machine.remove):
        for i in range(len(y)):
            act(i)
            found.append(machine.model.objective_[0])
            theta = machine.theta
            assert found[-1] == pytest.approx(
                abs(theta).sum() - theta @ machine.K @ theta / 2, rel=1e-7, abs=1e-7
            )
    slack = 1e-8 * (1 + max(found))
    assert np.all(np.diff(found[: len(y) + 1]) >= -slack)
    assert np.all(np.diff(found[len(y) :]) <= slack)
    assert found[-1] == 0
    assert (machine.rows, machine.b, machine.model.n_margin_[0]) == ([], 0.0, 0)
    np.testing.assert_array_equal(machine.decision(), np.zeros(len(y)))


@pytest.mark.parametrize("window", [1, 2, 30, 64, 100, 1000])
@pytest.mark.parametrize("size", [1, 7, 200])
def test_a_window_is_learning_the_last_rows_only(window, size):
    X, y = two_clouds(200, 2)
    model = IDSVM(C=10, gamma=0.5, window=window)
    for start in range(0, 200, size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
    last = slice(max(0, 200 - window), 200)
    alone = IDSVM(C=10, gamma=0.5).partial_fit(X[last], y[last], classes=[0, 1])
    np.testing.assert_array_equal(model.ids_, np.arange(200)[last])
    close(scores(model, X), scores(alone, X), 1e-8)
    assert model.objective_ == pytest.approx(alone.objective_, rel=1e-9, abs=1e-9)
    if len(set(y[last])) == 2:
        whole = IDSVM(C=10, gamma=0.5, window=window).fit(X, y)
        np.testing.assert_array_equal(whole.ids_, model.ids_)
        close(scores(whole, X), scores(model, X), 1e-8)


def test_a_smaller_window_lets_rows_go():
    X, y = two_clouds(80, 2)
    model = IDSVM(window=60, gamma=0.5).partial_fit(X[:70], y[:70], classes=[0, 1])
    model.set_params(window=20).partial_fit(X[70:], y[70:])
    np.testing.assert_array_equal(model.ids_, np.arange(60, 80))
    close(scores(model, X), scores(IDSVM(gamma=0.5).partial_fit(X[60:], y[60:], classes=[0, 1]), X), 1e-8)


def test_a_window_counts_rows_that_are_still_there():
    X, y = two_clouds(100, 2)
    model = IDSVM(window=50, gamma=0.5).partial_fit(X[:60], y[:60], classes=[0, 1]).forget(np.arange(20, 50))
    model.partial_fit(X[60:90], y[60:90])
    np.testing.assert_array_equal(model.ids_, [*range(10, 20), *range(50, 90)])
    model.partial_fit(X[90:95], y[90:95])
    np.testing.assert_array_equal(model.ids_, [*range(15, 20), *range(50, 95)])


# --- by hand ------------------------------------------------------------------------------------------------


def test_one_class_only():
    X = np.arange(4.0)[:, None]
    model = IDSVM(C=5, gamma=1.0).partial_fit(X[:3], [1, 1, 1], classes=[0, 1])
    assert (model.intercept_.tolist(), model.n_margin_.tolist(), len(model.support_)) == ([1.0], [0], 0)
    np.testing.assert_array_equal(model.leave_one_out().scores, np.ones(3))
    model.partial_fit(X[3:], [0])
    assert len(model.support_) > 1
    model.forget(3)
    np.testing.assert_array_equal(scores(model, X), np.ones(4))
    model.forget([0, 1, 2])
    assert (model.n_kept_, model.intercept_.tolist()) == (0, [0.0])
    assert scores(model.partial_fit(X[:1], [0]), X).tolist() == [-1.0] * 4


def test_two_rows():
    """Theta = 2 / |x_1 - x_2|^2 where the box allows it, and f runs from -1 to 1 between them."""
    model = IDSVM(C=10, kernel="linear").partial_fit([[0.0], [4.0]], [0, 1], classes=[0, 1])
    close(model.dual_coef_, [[-0.125, 0.125]], 1e-10)
    close(scores(model, [[0.0], [2.0], [4.0]]), [-1, 0, 1], 1e-9)
    assert model.n_margin_.tolist() == [2]
    assert model.objective_ == pytest.approx([0.125], abs=1e-10)


def test_contradicting_rows_end_at_their_bounds():
    for C in (0.01, 1.0, 1e6):
        model = IDSVM(C=C).partial_fit([[1.0], [1.0]], [0, 1], classes=[0, 1])
        np.testing.assert_array_equal(model.dual_coef_, [[-C, C]])
        assert (model.intercept_[0], model.n_margin_[0]) == (0, 0)
        model.forget(1)
        assert len(model.support_) == 0
        assert model.intercept_ == pytest.approx([-1], abs=1e-9)


def test_rows_in_the_plane_keep_the_margin_set_small():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1, -1)
    machine = Compiled(X, y, np.ones(60), C=10.0, kernel="linear")
    for i in range(60):
        machine.add(i)
        assert machine.model.n_margin_[0] <= 3
    assert machine.residual() < 1e-8
