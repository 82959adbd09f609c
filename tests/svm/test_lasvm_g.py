"""LASVM-G, LASVM-NC, LASVM-I and the full SVM: figures, the slow twin, and what must hold on any data.

Where the checks are sharp, kernel values come as a precomputed matrix that is exact in single precision: only
double rounding then lies between the core and what is computed here.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import LASVMG, LASVMI, LASVMNC, FullSVM
from property_helpers import property_test
from reference.lasvm_g import ReferenceGap
from reference.offline_ramp import offline_ramp
from reference.test_reference_lasvm_g import FIGURES, box_qp, load
from svm.lasvm_helpers import (
    InOrder,
    assert_same,
    assert_same_model,
    coefficients,
    in_blocks,
    learned,
    three_clouds,
    two_clouds,
    without_rivals,
)
from svm.test_lasvm_properties import costs, problems

LEARNERS = {"full": FullSVM, "g": LASVMG, "nc": LASVMNC, "i": LASVMI}
MODES = list(LEARNERS)


def single(K):
    """Kernel values that single precision holds exactly."""
    return K.astype(np.float32).astype(np.float64)


def column(model, n, c=0):
    """Rows of a binary problem; by row number its coefficients, gradients and the ends of its boxes."""
    state = model._machine.native.get_state()
    inside = state["member"][c] == 1
    rows, found = state["ids"][inside], []
    for name in ("alpha", "g", "edge"):
        found.append(np.zeros(n))
        found[-1][rows] = state[name][c][inside]
    return rows, *found


def noisy_checkerboard(n, seed=0, noise=0.15):
    """Rows of 3 x 3 squares of alternating labels, some of them wrong; also the right labels."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (n, 2))
    clean = np.where(np.floor(X + 1.5).sum(axis=1) % 2 == 0, 1, -1)
    return X, np.where(rng.random(n) < noise, -clean, clean), clean


def twin_of(mode, K, y, C, **options):
    return ReferenceGap(K, y, C, mode=mode, single_steps=64, **options)


def learner_of(mode, C, **options):
    """An estimator with the parameters that its class has; by default the algorithm of the paper."""
    known = LEARNERS[mode]().get_params()
    options = {"finishing": None} | options
    return LEARNERS[mode](C, **{name: value for name, value in options.items() if name in known})


# --- figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "C", "gamma", "mode", "svs", "W", "accuracy", "beyond"), FIGURES)
def test_one_epoch_in_the_given_order(name, C, gamma, mode, svs, W, accuracy, beyond):
    X, y, X_test, y_test = load(name)
    options = {"min_support": 0 if mode == "i0" else 100, "gamma": gamma, "random_state": InOrder(0)}
    model = learner_of(mode.strip("0"), C, **options).fit(X, y)
    alpha = coefficients(model, len(y))[0]
    assert len(model.support_) == pytest.approx(svs, abs=max(4, 0.03 * svs))
    count = {"nc": "n_outliers_", "i": "n_skipped_"}.get(mode.strip("0"))
    if count is not None:
        assert getattr(model, count)[0] == pytest.approx(beyond, abs=max(4, 0.03 * beyond))
    if W is not None:
        K = rbf_kernel(X, gamma=gamma)
        assert alpha @ y - 0.5 * alpha @ K @ alpha == pytest.approx(W, rel=0.01)
        assert model.score(X_test, y_test) == pytest.approx(accuracy, abs=0.005)
    assert model.n_kept_ == (len(y) if mode == "full" else len(model.support_))
    assert model.n_iter_ == len(y)
    assert not model.intercept_.any()


def test_noise_makes_the_ramp_sparser_and_cheaper():
    X, y, clean = noisy_checkerboard(4000)
    models = [
        learner_of(mode, 5, gamma=4.0, random_state=0, cache_size=1000).fit(X, y)
        for mode in ("i", "nc", "g", "full")
    ]
    evaluations = [model.n_kernel_evaluations_ for model in models]
    assert evaluations == sorted(evaluations)
    assert len(set(evaluations)) == 4
    skipping, marking, plain, _ = (len(model.support_) for model in models)
    assert max(skipping, marking) < 0.6 * plain
    assert min(model.score(X, clean) for model in models) > 0.85
    assert all(model.score(X, clean) > models[2].score(X, clean) - 0.01 for model in models)


# --- the twin ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("C", "gamma"), [(1, 0.02), (30, 0.1)])
def test_equal_to_the_twin_after_every_row(mode, C, gamma):
    X, y, _, _ = load("wdbc")
    X, y = X[:330], y[:330] * np.where(np.arange(330) % 9 == 4, -1, 1)
    K, options = single(rbf_kernel(X, gamma=gamma)), {"min_support": 40, "clean_every": 50, "max_idle": 10}
    twin = twin_of(mode, K, y, C, **options)
    model = learner_of(mode, C, kernel="precomputed", **options)
    for k in range(330):
        twin.visit(k)
        model.partial_fit(K[k : k + 1], y[k : k + 1], classes=[-1, 1])
        if k % 10 < 2 or k > 300:
            rows, alpha, g, edge = column(model, 330)
            assert sorted(rows) == sorted(twin.S)
            np.testing.assert_allclose(alpha, twin.alpha, rtol=0, atol=1e-9 * C)
            np.testing.assert_allclose(g[rows], twin.g[rows], rtol=0, atol=1e-8)
            np.testing.assert_array_equal(edge[rows], (twin.A + twin.B)[rows])
            assert model.duality_gap_[0] == pytest.approx(twin.gap(), rel=1e-6, abs=1e-6)
    assert len(twin.S) <= model.n_kept_ <= 2 * len(twin.S)  # a place may be given back later
    assert mode != "nc" or model.n_outliers_[0] == len(twin.outliers) > 0
    assert mode != "i" or model.n_skipped_[0] == len(twin.skipped) > 0
    assert twin.n_reprocess > 10


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [7, 64, 300])
def test_equal_to_the_twin_after_every_block_of_rows(mode, size):
    X, y, weight = without_rivals(300, seed=3)
    y = y * np.where(np.arange(300) % 9 == 4, -1, 1)
    C, options = 3 * weight, {"min_support": 30, "clean_every": 40, "max_idle": 10}
    twin = twin_of(mode, rbf_kernel(X, gamma=0.5), y, C, **options)
    model = learner_of(mode, 3, gamma=0.5, **options)
    for start in range(0, 300, size):
        block = slice(start, start + size)
        for k in range(300)[block]:
            met = [C[: k + 1][y[: k + 1] == label] for label in (-1, 1)]  # what is to come is not known
            twin.largest_cost = max(costs.mean() for costs in met if len(costs))
            twin.visit(k)
        model.partial_fit(X[block], y[block], classes=[-1, 1], sample_weight=weight[block])
        np.testing.assert_allclose(coefficients(model, 300)[0], twin.alpha, rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X), twin.decision(twin.K), rtol=0, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("finishing", [None, "kept"])
def test_epochs_and_finishing_are_those_of_the_twin(mode, finishing):
    X, y, _ = noisy_checkerboard(250)
    K, options = single(rbf_kernel(X, gamma=3.0)), {"min_support": 30, "clean_every": 60, "max_idle": 20}
    twin = twin_of(mode, K, y, 2.0, **options).run(range(250), epochs=2, final_clean=not finishing)
    if finishing:
        twin.finish()
        twin.clean(0 if mode != "full" else 250)
    model = learner_of(mode, 2.0, kernel="precomputed", epochs=2, finishing=finishing, **options)
    model.set_params(random_state=InOrder(0)).fit(K, y)
    atol = 2e-2 if finishing else 1e-9  # finishing may take another path to a solution as good
    assert finishing or sorted(column(model, 250)[0]) == sorted(twin.S)
    assert len(model.support_) == pytest.approx(np.count_nonzero(twin.alpha), abs=2)
    np.testing.assert_allclose(model.decision_function(K), twin.decision(K), rtol=0, atol=atol)


# --- what must hold on any data ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@property_test(40)
@given(problems(), st.sampled_from([-1.0, 0.0, -0.3]), st.sampled_from([0, 4]))
def test_after_every_row(mode, problem, s, min_support):
    K, y, weight = problem
    n, C = len(y), costs(y, weight)
    options = {"s": s, "min_support": min_support, "clean_every": 4, "max_idle": 2, "class_weight": weight}
    model = learner_of(mode, 1.0, kernel="precomputed", **options)
    for k in range(n):
        before = np.zeros(n) if k == 0 else coefficients(model, n)[0]
        z, marked = y[k] * (K[k] @ before), getattr(model, "n_outliers_", [0])[0] if k else 0
        seen, warm = (
            getattr(model, "n_skipped_", [0])[0] if k else 0,
            judges(mode, before, y[k], min_support),
        )
        model.partial_fit(K[k : k + 1], y[k : k + 1], classes=[-1, 1])
        rows, alpha, g, edge = column(model, n)
        low, high = np.minimum(0, edge), np.maximum(0, edge)
        # in the box, whose size is that of the cost, and turned for outliers only
        assert np.all((alpha >= low) & (alpha <= high))
        np.testing.assert_array_equal(np.abs(edge[rows]), C[rows])
        turned = rows[edge[rows] * y[rows] < 0]
        assert mode == "nc" or len(turned) == 0
        # gradients, and the gap as primal minus dual
        np.testing.assert_allclose(g[rows], (y - K @ alpha)[rows], rtol=0, atol=1e-8)
        margin = y * (K @ alpha)
        loss = np.where(np.isin(np.arange(n), turned), margin - 1, 1 - margin)[rows]
        primal, dual = (0.5 * alpha @ K @ alpha + sign for sign in (C[rows] @ np.maximum(0, loss), 0))
        dual = alpha @ y - dual
        assert model.duality_gap_[0] == pytest.approx(primal - dual, rel=1e-7, abs=1e-7 * (1 + primal))
        assert model.duality_gap_[0] >= 0
        # what the ramp does with the row
        if warm and abs(z - s) > 1e-9 and abs(z - 1) > 1e-9:
            assert mode != "nc" or model.n_outliers_[0] - marked == (z < s)
            assert mode != "i" or model.n_skipped_[0] - seen == (z < s or z > 1)
        if mode == "i" and model.n_skipped_[0] > seen:
            np.testing.assert_array_equal(coefficients(model, n)[0], before)
        assert mode != "full" or len(rows) == k + 1
    model.finish()
    rows, alpha, g, edge = column(model, n)
    assert np.all(g[rows[alpha[rows] < np.maximum(0, edge[rows])]] <= 1e-3 + 1e-9)
    assert np.all(g[rows[alpha[rows] > np.minimum(0, edge[rows])]] >= -1e-3 - 1e-9)
    assert len(rows) == (n if mode == "full" else len(model.support_))


def judges(mode, alpha, label, min_support):
    """Whether there are support vectors enough for the ramp to judge a row of this label."""
    enough = np.count_nonzero(alpha) >= min_support + (mode == "nc")
    return enough and np.count_nonzero(alpha * label > 0) >= min_support // 10


@property_test(60)
@given(problems())
def test_the_finished_full_svm_is_the_solution_of_the_box_problem(problem):
    K, y, weight = problem
    C = costs(y, weight)
    best = box_qp(K, y.astype(float), C)
    model = FullSVM(
        kernel="precomputed", class_weight=weight, tol=1e-5, finishing="kept", random_state=0
    ).fit(K, y)
    alpha = coefficients(model, len(y))[0]
    assert alpha @ y - 0.5 * alpha @ K @ alpha == pytest.approx(best @ y - 0.5 * best @ K @ best, rel=1e-4)
    np.testing.assert_allclose(model.decision_function(K), K @ best, rtol=0, atol=2e-3)
    assert model.duality_gap_[0] <= 1e-5 * C.sum() + 1e-9


@pytest.mark.parametrize(("C", "gamma"), [(1, 0.02), (100, 0.02)])
def test_the_finished_full_svm_is_exact_on_real_data(C, gamma):
    X, y, _, _ = load("wdbc")
    K, weight = rbf_kernel(X, gamma=gamma), 0.5 + np.random.default_rng(0).random(len(y))
    exact = K @ (y * offline_ramp(K, y, C * weight, -np.inf)[0])
    for seed in (0, 1):
        model = FullSVM(C, gamma=gamma, tol=1e-4, finishing="kept", random_state=seed).fit(X, y, weight)
        np.testing.assert_allclose(model.decision_function(X), exact, rtol=0, atol=2e-3)
        assert model.duality_gap_[0] < 1e-4 * C * weight.sum()


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_a_ramp_without_an_end_is_none(data):
    X, y = data(700, 6)
    options = {"C": 4, "gamma": 0.2, "epochs": 2, "finishing": None, "random_state": 0}
    plain = LASVMG(**options).fit(X, y)
    ramp = LASVMNC(s=-np.inf, min_support=0, **options).fit(X, y)
    assert_same_model(plain, ramp)
    assert_same(learned(plain), learned(ramp))
    assert not ramp.n_outliers_.any()
    classes = np.unique(y)
    online = [in_blocks(model, X, y, 90, classes) for model in (LASVMG(4), LASVMNC(4, s=-np.inf))]
    assert_same(learned(online[0]), learned(online[1]))


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_the_full_svm_is_one_that_never_cleans(data):
    X, y = data(500, 6)
    full = in_blocks(FullSVM(4, gamma=0.2), X, y, 90, np.unique(y))
    never = in_blocks(LASVMG(4, gamma=0.2, clean_every=2**31 - 1), X, y, 90, np.unique(y))
    assert_same(learned(full), learned(never))
    assert full.n_kept_ == 500


@pytest.mark.parametrize("mode", ["g", "nc"])
def test_cleaning_drops_what_is_furthest_and_changes_no_decision(mode):
    X, y, _ = noisy_checkerboard(299)
    K = single(rbf_kernel(X, gamma=3.0))
    model = learner_of(mode, 2.0, kernel="precomputed", min_support=40)
    model.partial_fit(K, y, classes=[-1, 1])
    for most in (60, 25, 0):
        kept, alpha, g, edge = column(model, 299)
        f, gap = model.decision_function(K), model.duality_gap_[0]
        slack = np.where(edge > 0, -g, g)
        model._machine.native.clean(most)
        left, *_ = column(model, 299)
        assert_same(coefficients(model, 299)[0], alpha)
        np.testing.assert_allclose(model.decision_function(K), f, rtol=0, atol=1e-12)
        idle, gone = [row for row in left if alpha[row] == 0], np.setdiff1d(kept, left)
        assert len(idle) == most
        assert len(gone) > 0
        assert max(slack[idle], default=-np.inf) <= slack[gone].min()
        assert model.duality_gap_[0] <= gap + 1e-9


@pytest.mark.parametrize("mode", MODES)
def test_every_problem_of_several_classes_is_a_binary_one(mode):
    X, y = three_clouds(400, 4)
    options = {"gamma": 0.2, "min_support": 30, "clean_every": 70, "max_idle": 20}
    several = in_blocks(learner_of(mode, 2.0, **options), X, y, 100, np.unique(y))
    for c, label in enumerate(several.classes_):
        binary = in_blocks(learner_of(mode, 2.0, **options), X, np.where(y == label, 1, -1), 100, [-1, 1])
        np.testing.assert_allclose(
            several.decision_function(X)[:, c], binary.decision_function(X), rtol=0, atol=1e-4
        )
        assert several.duality_gap_[c] == pytest.approx(binary.duality_gap_[0], rel=1e-3)
        for name in ("n_outliers_", "n_skipped_"):
            assert not hasattr(several, name) or getattr(several, name)[c] == getattr(binary, name)[0]


@pytest.mark.parametrize("mode", MODES)
def test_class_weights_are_sample_weights(mode):
    X, y = two_clouds(300)
    options = {"gamma": 0.3, "random_state": 0, "min_support": 30}
    named = learner_of(mode, 1.0, class_weight={0: 0.5, 1: 3.0}, **options).fit(X, y)
    given = learner_of(mode, 1.0, **options).fit(X, y, np.where(y == 1, 3.0, 0.5))
    assert_same_model(named, given)
    assert np.abs(coefficients(named, 300)[0][y == 0]).max() == 0.5
    assert np.mean(named.predict(X) == 1) > np.mean(
        learner_of(mode, 1.0, **options).fit(X, y).predict(X) == 1
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", [-1, 1])
def test_a_class_that_comes_after_hundreds_of_the_other_is_learned(mode, first):
    rng = np.random.default_rng(0)
    y = np.repeat([first, -first], [500, 200])
    X = rng.standard_normal((700, 2))
    X[:, 0] += 1.5 * y
    model = in_blocks(learner_of(mode, 10, gamma=0.5), X, y, 100, [-1, 1])
    right = model.predict(X) == y
    assert min(np.mean(right[:500]), np.mean(right[500:])) > 0.75
