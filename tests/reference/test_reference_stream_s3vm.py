"""The NumPy labels for a stream: what it holds, what it may not look at, what a summary costs, edge cases."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from property_helpers import property_test
from reference.class_ratio import estimate_ratio
from reference.s3vm import from_matrix, from_rows, scale_rows, transduce
from reference.stream_s3vm import ReferenceStreamS3VM, Rows, induce
from semi.semi_helpers import HAVE_DATA, clouds, load

MODES = st.sampled_from(["incremental", "online"])


def linear(A, B):
    return (A @ B.T).toarray() if sparse.issparse(A) else A @ B.T


@st.composite
def streams(draw, most=8):
    """Batches of rows no two of which are the same, with few labels; some batches are empty."""
    sizes = draw(st.lists(st.integers(0, most), min_size=1, max_size=5))
    X, y = clouds(sum(sizes), draw(st.integers(0, 10**6)), features=3)
    given_ = np.array(draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=len(y), max_size=len(y))))
    ends = np.cumsum([0, *sizes])
    return [(X[a:b], (y * given_)[a:b]) for a, b in pairwise(ends)]


OPTIONS = st.fixed_dictionaries(
    {
        "mode": MODES,
        "max_disagreement": st.sampled_from([0.0, 0.05, 0.3, 1.0]),
        "max_exemplars": st.sampled_from([None, 0, 1, 3]),
        "max_labeled_per_class": st.sampled_from([None, 1, 2]),
        "use_next_batch": st.booleans(),
        "method": st.sampled_from(["greedy", "two-sided", "fast"]),
    }
)


def rows_of(model):
    return np.vstack([rows.X for rows in model.held()]), np.concatenate([rows.y for rows in model.held()])


# --- what is held ------------------------------------------------------------------------------------------


@property_test(150)
@given(streams(), OPTIONS)
def test_held_rows_are_bounded_and_carry_only_true_labels(stream, options):
    model, told, labeled, at_last = ReferenceStreamS3VM(linear, **options), {}, {1: 0, -1: 0}, 0
    for X, y in stream:
        if not len(y):
            continue
        summaries, before = len(model.history), None if model.E is None else len(model.E.y)
        model.step(X, y)
        if model.E is not None:
            unlabeled = np.count_nonzero(model.E.y == 0)
            max_exemplars = len(y) if options["max_exemplars"] is None else options["max_exemplars"]
            available = at_last + (before or 0)
            assert unlabeled == model.history[-1].exemplars <= min(max_exemplars, available)
            for label in (1, -1):
                kept = np.count_nonzero(model.E.y == label)
                limit = (
                    np.inf if options["max_labeled_per_class"] is None else options["max_labeled_per_class"]
                )
                assert kept == min(labeled[label], limit)
            assert len(model.history) == summaries + 1
            assert len(model.held()) == 2
        told |= {x.tobytes(): label for x, label in zip(X, y, strict=True)}
        for x, label in zip(*rows_of(model), strict=True):
            assert told[x.tobytes()] == label
        for label in (1, -1):
            labeled[label] += np.count_nonzero(y == label)
            if options["max_labeled_per_class"] is not None and model.E is not None:
                in_E = np.count_nonzero(model.E.y == label)
                labeled[label] = in_E + np.count_nonzero(y == label)
        at_last = len(y)
        np.testing.assert_array_equal(model.P.X, X)
        np.testing.assert_array_equal(model.P.y, y)


@property_test(150)
@given(streams(), OPTIONS)
def test_a_summary_is_as_small_as_its_tolerance_allows(stream, options):
    model = ReferenceStreamS3VM(linear, **options)
    for X, y in stream:
        if not len(y):
            continue
        old = model.held()
        labels = model.step(X, y)
        if len(old) == 0:
            assert model.history == []
            continue
        M, trials, cost = model.history[-1]
        rows, seen = np.vstack([o.X for o in old]), np.concatenate([o.y for o in old])
        most = min(
            len(y) if options["max_exemplars"] is None else options["max_exemplars"],
            np.count_nonzero(seen == 0),
        )
        more = max(1, int(0.1 * len(seen) + 0.5))
        assert min(more * trials, most) == M
        assert cost <= options["max_disagreement"] or most == M
        now = y if options["mode"] == "incremental" else 0 * y
        for trial in range(1, trials):  # it was too dear with fewer
            E = model.summary(Rows(rows, seen), more * trial, Rows(X, now))
            found = model.label(E + Rows(X, now))[-len(y) :]
            assert np.mean(found != labels) > options["max_disagreement"]
        for X_0, y_0, wanted in ((model.E.X, model.E.y, cost), (rows, seen, 0.0)):
            Z, known = np.vstack([X_0, X]), np.concatenate([y_0, now])
            found = transduce(from_matrix(linear(Z, Z), known), known, 0.5, options["method"])
            assert np.mean(found[-len(y) :] != labels) == wanted


# --- what it may look at -----------------------------------------------------------------------------------


@property_test(100)
@given(streams(), OPTIONS)
def test_online_a_batch_is_labeled_before_its_labels_are_seen(stream, options):
    model = ReferenceStreamS3VM(linear, **options | {"mode": "online"})
    for X, y in stream:
        other = pickle.loads(pickle.dumps(without_f(model)))
        np.testing.assert_array_equal(model.step(X, y), other.step(X, -y))


@property_test(100)
@given(streams(), OPTIONS)
def test_incremental_labels_are_repeated_and_take_part(stream, options):
    model = ReferenceStreamS3VM(linear, **options | {"mode": "incremental"})
    for X, y in stream:
        labels = model.step(X, y)
        np.testing.assert_array_equal(labels[y != 0], y[y != 0])


@property_test(100)
@given(streams(), OPTIONS)
def test_it_abstains_exactly_until_a_label_was_seen(stream, options):
    model, seen = ReferenceStreamS3VM(linear, **options), False
    for X, y in stream:
        now = seen or (options["mode"] == "incremental" and y.any())
        labels = model.step(X, y)
        assert np.all(labels != 0) if now else not labels.any()
        assert model.f is None if not now else len(y) == 0 or model.f is not None
        seen = seen or y.any()


def without_f(model):
    """A copy without the machine, which is no part of the state: it is trained anew in every step."""
    copy = ReferenceStreamS3VM(
        model.kernel,
        model.ratio,
        model.mode,
        model.max_disagreement,
        model.max_exemplars,
        model.max_labeled_per_class,
    )
    copy.use_next_batch, copy.options = model.use_next_batch, model.options
    copy.E, copy.P, copy.history = model.E, model.P, list(model.history)
    return copy


@property_test(100)
@given(streams(), OPTIONS, st.integers(0, 4))
def test_a_saved_state_goes_on_bit_for_bit(stream, options, stop):
    model = ReferenceStreamS3VM(linear, **options)
    for X, y in stream[:stop]:
        model.step(X, y)
    other = pickle.loads(pickle.dumps(without_f(model)))
    for X, y in stream[stop:]:
        np.testing.assert_array_equal(model.step(X, y), other.step(X, y))
        if len(y):
            np.testing.assert_array_equal(model.f(X) if model.f else 0, other.f(X) if other.f else 0)
    assert model.history == other.history


def test_sparse_rows_are_dense_rows():
    X, y = clouds(60, 0)
    labels = y * (np.arange(60) % 7 == 0)
    dense, rare = ReferenceStreamS3VM(linear), ReferenceStreamS3VM(linear)
    for batch in np.split(np.arange(60), 5):
        np.testing.assert_array_equal(
            dense.step(X[batch], labels[batch]), rare.step(sparse.csr_matrix(X[batch]), labels[batch])
        )
    assert dense.history == rare.history


# --- what it is worth --------------------------------------------------------------------------------------


class KeepsAll(ReferenceStreamS3VM):
    def summarize(self, old, batch, labels):
        return old


class KeepsFirst(ReferenceStreamS3VM):
    def choose(self, unlabeled, labeled, M, use_next_batch):
        return np.arange(M)


def run(X, y, learner=ReferenceStreamS3VM, batches=10, seed=0, **options):
    """Two labels a batch: mean accuracy on rows whose label was not given (online: on all), the summaries."""
    model, random = learner(linear, np.mean(y > 0), method="greedy", **options), np.random.default_rng(seed)
    right = []
    for rows in np.array_split(np.arange(len(y)), batches):
        seen = np.zeros(len(rows))
        told = random.permutation(len(rows))[:2]
        seen[told] = y[rows][told]
        found = model.step(X[rows], seen)
        counted = (seen == 0) | (model.mode == "online")
        if found.any():
            right.append(np.mean((found == y[rows])[counted]))
    return 100 * np.mean(right), model.history


@pytest.mark.parametrize("mode", ["incremental", "online"])
def test_a_tolerant_summary_is_small_and_costs_next_to_nothing(mode):
    X, y = clouds(480, 0, features=20, apart=1.2)
    X = scale_rows(X, "keep")
    everything, _ = run(X, y, KeepsAll, 8, mode=mode)
    strict, exact = run(X, y, batches=8, mode=mode, max_disagreement=0.0)
    tolerant, rough = run(X, y, batches=8, mode=mode)
    first, _ = run(X, y, KeepsFirst, 8, mode=mode)
    assert everything > 75
    for accuracy in (strict, tolerant, first):  # it is not the choice of exemplars that keeps the accuracy
        assert accuracy == pytest.approx(everything, abs=3)
    few, many = (np.mean([s.exemplars for s in history]) for history in (rough, exact))
    assert few < many / 2
    assert sum(s.trials for s in rough) < sum(s.trials for s in exact) / 2
    assert max(s.cost for s in rough) <= 0.05


if HAVE_DATA:

    @pytest.mark.parametrize(
        ("mode", "use_next_batch", "accuracy"),
        [("incremental", False, 82.4), ("incremental", True, 82.5), ("online", False, 81.5)],
    )
    def test_svmguide1(mode, use_next_batch, accuracy):
        """Ten batches of 200. Accuracy varies from order to order with a deviation of 3 points, its loss by
        summaries hardly: the mean of six other orders is near the figure, each loss near 0.
        """
        X, y = load("svmguide1")
        X, found, lost = scale_rows(X), [], []
        for seed in range(6):
            rows = np.random.default_rng(seed).permutation(len(y))[:2000]
            all_kept, tolerant = (
                run(X[rows], y[rows], learner, seed=seed, mode=mode, use_next_batch=use_next_batch)[0]
                for learner in (KeepsAll, ReferenceStreamS3VM)
            )
            found.append(tolerant)
            lost.append(all_kept - tolerant)
        assert np.mean(found) == pytest.approx(accuracy, abs=3)
        assert np.max(np.abs(lost)) < 2.5
        assert abs(np.mean(lost)) < 1


# --- the machine -------------------------------------------------------------------------------------------


def test_found_labels_count_as_much_as_true_ones_in_all():
    X, y = clouds(40, 1, apart=3.0)
    known = np.where(np.arange(40) < 4, y, 0)
    labels = transduce(from_rows(X, known), known, 0.5)
    f = induce(linear, X, known, labels, C=2.0)
    weights = np.where(known != 0, 2.0, 2.0 * 4 / 36)
    assert weights[known != 0].sum() == pytest.approx(weights[known == 0].sum())
    other = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(f(X), other.decision_function(X), atol=1e-3)
    assert np.mean(np.sign(f(X)) == y) > 0.9


def test_one_class_is_all_it_says():
    X = np.eye(3)
    f = induce(linear, X, np.array([1.0, 0, 0]), np.ones(3))
    np.testing.assert_array_equal(f(X), [1, 1, 1])
    assert induce(linear, X, np.zeros(3), np.zeros(3)) is None


# --- edge cases --------------------------------------------------------------------------------------------


def test_an_empty_batch_changes_nothing():
    X, y = clouds(20, 0)
    model = ReferenceStreamS3VM(linear)
    assert len(model.step(X[:0], y[:0])) == 0
    assert model.held() == []
    model.step(X[:10], y[:10])
    model.step(X[10:], 0 * y[10:])
    before = rows_of(model)
    model.step(X[:0], y[:0])
    for old, new in zip(before, rows_of(model), strict=True):
        np.testing.assert_array_equal(old, new)


def test_two_batches_are_labeled_as_one():
    X, y = clouds(40, 0)
    known = y * (np.arange(40) % 5 == 0)
    model = ReferenceStreamS3VM(linear, method="greedy")
    model.step(X[:20], known[:20])
    together = transduce(from_rows(X, known), known, 0.5, "greedy")
    np.testing.assert_array_equal(model.step(X[20:], known[20:]), together[20:])


def test_the_ratio_may_be_estimated_in_every_step():
    X, y = clouds(200, 2, apart=4.0, share=0.3)
    asked = []

    def ratio(K, known):
        asked.append(estimate_ratio(K, from_matrix(K, known), known, points=20, finer=False))
        return asked[-1].r

    model = ReferenceStreamS3VM(linear, ratio)
    for rows in np.split(np.arange(200), 4):
        known = np.where(np.arange(50) < 5, y[rows], 0)
        labels = model.step(X[rows], known)
    assert np.mean(labels == y[rows]) > 0.9
    assert asked[0].reliable


@pytest.mark.parametrize("use_next_batch", [False, True])
def test_exemplars_may_look_ahead(use_next_batch):
    """60 rows and a label in one place, 4 rows in another, where the next batch is."""
    rng = np.random.default_rng(0)
    X = np.r_[np.zeros(61), np.full(4, 5.0)][:, None] + 0.3 * rng.standard_normal((65, 1))
    y = np.r_[1.0, np.zeros(64)]
    model = ReferenceStreamS3VM(
        lambda A, B: rbf_kernel(A, B, gamma=0.5),
        max_exemplars=6,
        max_disagreement=1.0,
        use_next_batch=use_next_batch,
    )
    model.step(X, y)
    model.step(5 + 0.3 * rng.standard_normal((40, 1)), np.zeros(40))
    there = np.count_nonzero(model.E.X > 2.5)
    assert there >= 2 if use_next_batch else there <= 1


def test_no_room_keeps_only_labeled_rows():
    X, y = clouds(30, 0)
    model = ReferenceStreamS3VM(linear, max_exemplars=0)
    for rows in np.split(np.arange(30), 3):
        model.step(X[rows], np.where(np.arange(10) < 2, y[rows], 0))
    assert len(model.E.y) == 4
    assert np.all(model.E.y != 0)
    assert [s.exemplars for s in model.history] == [0, 0]
