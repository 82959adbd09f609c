"""StreamS3VM: the plain version, what is held, what it may look at, limits, state, formats, bad input."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import everlearn
from everlearn import LASVM, QPS3VM, StreamS3VM, SubmodS3VM
from reference.s3vm import scale_rows
from reference.stream_s3vm import ReferenceStreamS3VM
from semi.semi_helpers import THESIS, clouds, digits, property_test

PLAIN = {"kernel": "linear", "scaling": "none", "positive_ratio": 0.5, **THESIS}


def linear(A, B):
    return A @ B.T


def stream_of(transducer=None, **options):
    """A learner that does what the plain version does, without a rule for new rows."""
    transducer = SubmodS3VM(**PLAIN) if transducer is None else transducer
    return StreamS3VM(transducer, random_state=0, **{"estimator": None, **options})


def missing(y):
    """Labels of −1 and +1 with 0 for none, as a learner takes them."""
    return np.where(np.asarray(y) == 0, np.nan, y)


@st.composite
def streams(draw, most=10):
    """Batches of rows no two of which are the same, with few labels; some batches are empty."""
    sizes = draw(st.lists(st.integers(0, most), min_size=1, max_size=5))
    X, y = clouds(sum(sizes), draw(st.integers(0, 10**6)), features=3)
    given_ = np.array(draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=len(y), max_size=len(y))))
    ends = np.cumsum([0, *sizes])
    return [(X[a:b], (y * given_)[a:b]) for a, b in pairwise(ends)]


MODES = st.sampled_from(["incremental", "online"])
OPTIONS = st.fixed_dictionaries(
    {
        "mode": MODES,
        "tol": st.sampled_from([0.0, 0.05, 0.3, 1.0]),
        "cap": st.sampled_from([None, 0, 1, 3]),
        "label_cap": st.sampled_from([None, 1, 2]),
        "ahead": st.booleans(),
    }
)
SOLVERS = st.sampled_from(["greedy", "two-sided", "fast"])


# --- the plain version -------------------------------------------------------------------------------------


@property_test(60)
@given(streams(), OPTIONS, SOLVERS, st.sampled_from(["linear", "rbf"]))
def test_labels_summaries_and_costs_are_those_of_the_plain_version(stream, options, solver, kernel):
    transducer = SubmodS3VM(**PLAIN | {"kernel": kernel}, gamma=0.4, solver=solver)
    model = stream_of(transducer, **options)
    kernels = {"linear": linear, "rbf": lambda A, B: np.exp(-0.4 * ((A[:, None] - B) ** 2).sum(axis=2))}
    plain = ReferenceStreamS3VM(kernels[kernel], method=solver, **options)
    for X, y in stream:
        if len(y) and sum(np.count_nonzero(held.y == 0) for held in plain.held()) == 2:
            return  # of two rows the one or the other: they tie, but for rounding
        expected = plain.step(X, y)
        model.partial_fit(X, missing(y), classes=[-1, 1])
        if not len(y):
            continue
        abstains = not expected.any()
        assert all(label is None for label in model.transduction_) == abstains
        if not abstains:
            np.testing.assert_array_equal(model.transduction_, expected)
        held = plain.E or plain.P.of([])
        rows, labels = model.summary_
        np.testing.assert_array_equal(rows, held.X)
        assert [0 if label is None else label for label in labels] == held.y.tolist()
        assert model.n_stored_ == len(held.y) + len(y)
    found = [(r["exemplars"], r["trials"], r["cost"]) for r in getattr(model, "history_", [])][1:]
    assert found == [tuple(summary) for summary in plain.history]


def test_two_batches_are_labelled_as_one():
    X, y = clouds(40, 0)
    known = missing(y * (np.arange(40) % 5 == 0))
    model = stream_of().partial_fit(X[:20], known[:20]).partial_fit(X[20:], known[20:])
    together = SubmodS3VM(**PLAIN).fit(X, known).transduction_
    np.testing.assert_array_equal(model.transduction_, together[20:])


# --- what is held, and what it may look at -----------------------------------------------------------------


@property_test(60)
@given(streams(), OPTIONS, st.sampled_from([None, 20, 21]))
def test_limits_and_true_labels_only(stream, options, memory_rows):
    model, told = stream_of(memory_rows=memory_rows, **options), {}
    for X, y in stream:
        model.partial_fit(X, missing(y))
        if not len(y):
            continue
        told |= {x.tobytes(): label for x, label in zip(X, y, strict=True)}
        rows, labels = model.summary_
        numbers = np.array([0 if label is None else label for label in labels])
        record = model.history_[-1]
        cap = len(y) if options["cap"] is None else options["cap"]
        assert np.count_nonzero(numbers == 0) == record["exemplars"] <= cap
        if options["label_cap"] is not None:
            assert max(np.count_nonzero(numbers == label) for label in (-1, 1)) <= options["label_cap"]
        assert model.n_stored_ == record["stored"] == len(rows) + len(y)
        if memory_rows is not None:
            assert model.n_stored_ <= memory_rows
        if options["cap"] is None and memory_rows is None:
            assert (
                record["cost"] <= options["tol"] or record["exemplars"] >= min(cap, len(told) - len(y)) - cap
            )
        for x, label in zip(rows, numbers, strict=True):
            assert told[x.tobytes()] == label


@property_test(40)
@given(streams(), OPTIONS)
def test_cost_is_below_tol_unless_the_cap_is_reached(stream, options):
    model, held = stream_of(**options), 0
    for X, y in stream:
        if not len(y):
            continue
        before = getattr(model, "_held", None)
        unlabelled = 0 if before is None else sum(int((~part.known).sum()) for part in before)
        model.partial_fit(X, missing(y))
        if held:
            record = model.history_[-1]
            most = min(len(y) if options["cap"] is None else options["cap"], unlabelled)
            assert record["cost"] <= options["tol"] or record["exemplars"] == most
        held += len(y)


@property_test(40)
@given(streams(), OPTIONS)
def test_online_a_batch_is_labelled_before_its_labels_are_seen(stream, options):
    model, other = (stream_of(**options | {"mode": "online"}) for _ in range(2))
    for X, y in stream:
        model.partial_fit(X, missing(y), classes=[-1, 1])
        other.partial_fit(X, missing(-y), classes=[-1, 1])
        if len(y):
            np.testing.assert_array_equal(model.transduction_, other.transduction_)
        other = clone_state(model)


@property_test(40)
@given(streams(), OPTIONS)
def test_it_abstains_exactly_until_a_label_was_seen(stream, options):
    model, seen = StreamS3VM(SubmodS3VM(**PLAIN), random_state=0, **options), False
    for X, y in stream:
        now = seen or (options["mode"] == "incremental" and y.any())
        model.partial_fit(X, missing(y))
        seen = bool(seen or y.any())
        if not len(y):
            continue
        assert all((label is not None) == now for label in model.transduction_)
        if options["mode"] == "incremental":
            assert (model.transduction_[y != 0] == y[y != 0]).all()
        if seen:
            assert set(model.predict(X)) <= {-1.0, 1.0}
        else:
            with pytest.raises(NotFittedError, match="has seen no label yet, and abstains"):
                model.predict(X)


def test_memory_does_not_grow():
    X, y = clouds(1200, 0)
    model = stream_of(label_cap=10)
    for number, rows in enumerate(np.split(np.arange(1200), 40)):
        model.partial_fit(X[rows], missing(y[rows] * (np.arange(30) < 3)))
        assert model.n_stored_ <= 30 + 30 + 2 * 10
        assert model.n_batches_ == number + 1
    limited = stream_of(memory_rows=70)
    for rows in np.split(np.arange(1200), 40):
        limited.partial_fit(X[rows], missing(y[rows] * (np.arange(30) < 15)))
        assert limited.n_stored_ <= 70
        assert len({label for label in limited.summary_[1] if label is not None}) in (0, 2)


def test_the_record_is_bounded(monkeypatch):
    monkeypatch.setattr("everlearn.semi.stream_s3vm._MOST_HISTORY", 3)
    X, y = clouds(50, 0)
    model = stream_of()
    for rows in np.split(np.arange(50), 5):
        model.partial_fit(X[rows], missing(y[rows] * (np.arange(10) < 2)))
    assert [record["batch"] for record in model.history_] == [3, 4, 5]


# --- state -------------------------------------------------------------------------------------------------


def clone_state(model):
    """What is left of a learner once it was saved."""
    return type(model)._from_state(model._get_state())


@property_test(30)
@given(streams(), OPTIONS, st.integers(0, 4))
def test_a_saved_stream_goes_on_bit_for_bit(tmp_path_factory, stream, options, stop):
    path = tmp_path_factory.mktemp("stream") / "saved"
    model = StreamS3VM(SubmodS3VM(**PLAIN), random_state=0, **options)
    for X, y in stream[:stop]:
        model.partial_fit(X, missing(y))
    everlearn.save(model, path)
    other = everlearn.load(path)
    same_state(model, other)
    for X, y in stream[stop:]:
        model.partial_fit(X, missing(y))
        other.partial_fit(X, missing(y))
        same_state(model, other)
        if model.__sklearn_is_fitted__() and len(y) and not model.one_class_:
            np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))


def same_state(model, other):
    assert repr(model) == repr(other)
    assert hasattr(model, "_held") == hasattr(other, "_held")
    if not hasattr(model, "_held"):
        return
    for name in ("classes_", "transduction_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    for first, second in zip(model._held, other._held, strict=True):
        np.testing.assert_array_equal(first.X, second.X)
        np.testing.assert_array_equal(first.numbers, second.numbers)
    assert model.history_ == other.history_
    assert (model.positive_ratio_, model.one_class_) == (other.positive_ratio_, other.one_class_)


def test_words_as_labels_sparse_rows_and_landmarks_are_saved(tmp_path):
    X, y = clouds(80, 1, apart=3.0)
    words = np.where(y > 0, "yes", "no").astype(object)
    words[np.arange(80) % 5 > 0] = None
    for rows, transducer in (
        (sparse.csr_matrix(X), SubmodS3VM()),
        (X, SubmodS3VM(kernel="rbf", n_components=8, positive_ratio={"no": 0.5, "yes": 0.5})),
        (X, QPS3VM(positive_ratio=0.5)),
    ):
        model = StreamS3VM(transducer, random_state=3)
        model.partial_fit(rows[:40], words[:40])
        everlearn.save(model, tmp_path / "saved")
        other = everlearn.load(tmp_path / "saved")
        for learner in (model, other):
            learner.partial_fit(rows[40:], words[40:])
        assert model.classes_.tolist() == ["no", "yes"]
        np.testing.assert_array_equal(model.transduction_, other.transduction_)
        np.testing.assert_array_equal(model.decision_function(rows), other.decision_function(rows))
        assert np.mean(model.predict(rows) == np.where(y > 0, "yes", "no")) > 0.85


def test_a_seed_decides_everything():
    X, y = clouds(90, 2)
    runs = []
    for seed in (0, 0):
        model = StreamS3VM(SubmodS3VM(n_components=5, kernel="rbf"), random_state=seed)
        for rows in np.split(np.arange(90), 3):
            model.partial_fit(X[rows], missing(y[rows] * (np.arange(30) < 6)))
        runs.append(model.decision_function(X))
    np.testing.assert_array_equal(*runs)


# --- batches of every kind ---------------------------------------------------------------------------------


def test_an_empty_batch_changes_nothing():
    X, y = clouds(20, 0)
    model = stream_of()
    model.partial_fit(X[:0], y[:0])
    assert set(vars(model)) == set(model.get_params(deep=False))
    model.partial_fit(X[:10], y[:10]).partial_fit(X[10:])
    before = dict(vars(model))
    model.partial_fit(X[:0], [])
    assert vars(model) == before


def test_batches_without_labels_and_of_any_size():
    X, y = clouds(100, 4, apart=3.0)
    model = StreamS3VM(SubmodS3VM(positive_ratio=0.5), random_state=0)
    for a, b in ((0, 30), (30, 31), (31, 90), (90, 100)):
        model.partial_fit(X[a:b], y[a:b] if a == 0 else None)
    assert np.mean(model.transduction_ == y[90:]) > 0.8
    assert model.score(X, y) > 0.95


def test_formats_give_the_same_labels():
    X, y = clouds(60, 5)
    known = missing(y * (np.arange(60) % 4 == 0))
    frame = pd.DataFrame(X, columns=list("abcde"))
    forms = {
        "dense": lambda rows: X[rows],
        "frame": lambda rows: frame.iloc[rows],
        "list": lambda rows: X[rows].tolist(),
        "float32": lambda rows: X[rows].astype(np.float32).astype(np.float64),
        "csr": lambda rows: sparse.csr_matrix(X[rows]),
        "mixed": lambda rows: X[rows] if rows[0] == 0 else sparse.csc_array(X[rows]),
    }
    found = {}
    for name, form in forms.items():
        model = StreamS3VM(SubmodS3VM(**PLAIN), random_state=0)
        labels = []
        for rows in np.split(np.arange(60), 3):
            model.partial_fit(form(rows), known[rows])
            labels += model.transduction_.tolist()
        found[name] = labels, model.n_stored_, sparse.issparse(model.summary_[0])
    assert found["csr"][2]
    for name in ("frame", "list", "csr", "mixed"):
        assert found[name][:2] == found["dense"][:2]
    assert found["dense"][2] == found["mixed"][2] is False
    model = StreamS3VM(SubmodS3VM(**PLAIN)).fit(frame, known)
    assert list(model.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[list("edcba")], known)


def test_classes_may_come_later():
    X, y = clouds(90, 6, apart=4.0)
    X[60:, 1] += 9
    names = np.where(y > 0, 5.0, 3.0)
    names[60:] = 4.0
    model = StreamS3VM(random_state=0)
    model.partial_fit(X[:30], np.where(y[:30] > 0, names[:30], np.nan))
    assert model.one_class_
    assert model.classes_.tolist() == [5]
    assert set(model.predict(X)) == {5.0}
    model.partial_fit(X[30:60], np.where(np.arange(30) < 8, names[30:60], np.nan))
    assert not model.one_class_
    assert model.classes_.tolist() == [3, 5]
    model.partial_fit(X[60:], np.where(np.arange(30) < 8, names[60:], np.nan))
    assert model.classes_.tolist() == [3, 4, 5]
    known = [label for label in model.summary_[1] if label is not None]
    assert set(known) == {3.0, 5.0}
    assert model.score(X, names) > 0.75
    assert model.decision_function(X).shape == (90, 3)


def test_named_classes():
    X, y = clouds(40, 7)
    one = stream_of(estimator="auto", transducer=SubmodS3VM(**PLAIN | {"positive_ratio": None}))
    one.partial_fit(X, np.where(y > 0, 1, np.nan), classes=[0, 1])
    assert one.one_class_
    np.testing.assert_array_equal(one.decision_function(X), 1)
    three = stream_of(estimator="auto", transducer=SubmodS3VM(**PLAIN | {"positive_ratio": None}))
    three.partial_fit(X, np.where(y > 0, 1, np.nan), classes=[0, 1, 2])
    np.testing.assert_array_equal(three.decision_function(X)[:, [0, 2]], -np.inf)
    half = stream_of(estimator="auto").partial_fit(X, np.where(y > 0, 1, np.nan)[::-1], classes=[0, 1])
    assert set(half.transduction_) == {0.0, 1.0}  # the share is given, the other class is named
    with pytest.raises(ValueError, match=r"y has labels that are not in classes: 7"):
        stream_of().partial_fit(X, np.full(40, 7), classes=[0, 1])


def test_online_the_rule_learns_what_came_after():
    X, y = clouds(40, 8, apart=3.0)
    model = StreamS3VM(SubmodS3VM(**PLAIN), mode="online", random_state=0).partial_fit(X, y)
    assert all(label is None for label in model.transduction_)
    assert model.score(X, y) > 0.95
    other = StreamS3VM(SubmodS3VM(**PLAIN), mode="online", random_state=0).partial_fit(X, -y)
    assert other.score(X, y) < 0.05


def test_another_rule_and_none():
    X, y = clouds(40, 9, apart=3.0)
    known = missing(y * (np.arange(40) < 10))
    for rule in (LASVM(gamma=0.1), LogisticRegression()):
        model = StreamS3VM(SubmodS3VM(**PLAIN), estimator=rule).fit(X, known)
        assert type(model.estimator_) is type(rule)
        assert model.score(X, y) > 0.9
    model = StreamS3VM(SubmodS3VM(**PLAIN), estimator=None).fit(X, known)
    assert model.estimator_ is None
    with pytest.raises(ValueError, match="no rule for new rows"):
        model.predict(X)


def test_fit_begins_anew():
    X, y = clouds(40, 10)
    model = stream_of().partial_fit(X, y).fit(X[:20], missing(y[:20] * (np.arange(20) < 5)))
    fresh = stream_of().fit(X[:20], missing(y[:20] * (np.arange(20) < 5)))
    same_state(model, fresh)
    assert model.n_batches_ == 1
    with pytest.raises(ValueError, match="no label at all"):
        model.fit(X, [None] * 40)
    same_state(model, fresh)


# --- what it is worth --------------------------------------------------------------------------------------


def run(X, y, batches=8, seed=0, **options):
    """Two labels a batch: mean accuracy on rows whose label was not given (online: on all), and the model."""
    model = StreamS3VM(random_state=0, **options)
    random, right = np.random.default_rng(seed), []
    for rows in np.array_split(np.arange(len(y)), batches):
        told = np.isin(np.arange(len(rows)), random.permutation(len(rows))[:2])
        model.partial_fit(X[rows], np.where(told, y[rows], np.nan), classes=[-1, 1])
        if model.transduction_[0] is not None:
            counted = ~told | (model.mode == "online")
            right.append(np.mean((model.transduction_ == y[rows])[counted]))
    return 100 * np.mean(right), model


@pytest.mark.parametrize("mode", ["incremental", "online"])
def test_a_tolerant_summary_is_small_and_costs_next_to_nothing(mode):
    X, y = clouds(480, 0, features=20, apart=1.2)
    X, transducer = scale_rows(X, "keep"), SubmodS3VM(**PLAIN | {"positive_ratio": float(np.mean(y > 0))})
    strict, exact = run(X, y, mode=mode, tol=0.0, transducer=transducer)
    tolerant, rough = run(X, y, mode=mode, transducer=transducer)
    assert strict > 75
    assert tolerant == pytest.approx(strict, abs=3)
    few, many = (np.mean([r["exemplars"] for r in model.history_[1:]]) for model in (rough, exact))
    assert few < many / 2
    assert sum(r["trials"] for r in rough.history_) < sum(r["trials"] for r in exact.history_) / 2
    assert max(r["cost"] for r in rough.history_) <= 0.05


def test_shares_are_estimated_when_nobody_knows_them():
    X, y = clouds(240, 2, apart=4.0, share=0.3)
    accuracy, model = run(X, y, batches=4, transducer=SubmodS3VM(kernel="linear"))
    assert accuracy > 85
    assert model.positive_ratio_ == pytest.approx(0.3, abs=0.1)


def test_digits_in_constant_memory():
    X, y = digits(columns="keep")
    order = np.random.default_rng(0).permutation(len(y))
    accuracy, model = run(
        X[order], y[order], batches=6, memory_rows=130, transducer=SubmodS3VM(positive_ratio=0.5)
    )
    assert accuracy > 80
    assert model.score(X, y) > 0.85
    assert model.n_stored_ <= 130


@pytest.mark.parametrize("ahead", [False, True])
def test_exemplars_may_look_ahead(ahead):
    """60 rows and a label in one place, 4 rows in another, where the next batch is."""
    rng = np.random.default_rng(0)
    X = np.r_[np.zeros(61), np.full(4, 5.0)][:, None] + 0.3 * rng.standard_normal((65, 1))
    transducer = SubmodS3VM(**PLAIN | {"kernel": "rbf"}, gamma=0.5)
    model = stream_of(transducer, cap=6, tol=1.0, ahead=ahead)
    model.partial_fit(X, [1.0] + [None] * 64, classes=[-1, 1])
    model.partial_fit(5 + 0.3 * rng.standard_normal((40, 1)))
    there = np.count_nonzero(model.summary_[0] > 2.5)
    assert there >= 2 if ahead else there <= 1


def test_narrow_kernels_go_on_from_a_summary():
    X, target = make_moons(400, noise=0.08, random_state=0)
    y = np.where(target == 1, 1.0, -1.0)
    transducer = SubmodS3VM(kernel="rbf", gamma=20.0, scaling="none", positive_ratio=0.5)
    model = StreamS3VM(transducer, tol=0.05, random_state=0)
    known = np.where(np.arange(200) % 20 == 0, y[:200], np.nan)
    model.partial_fit(X[:200], known).partial_fit(X[200:300]).partial_fit(X[300:])
    assert np.mean(model.transduction_ == y[300:]) > 0.85


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"transducer": LASVM()}, "'transducer' of StreamS3VM must be None or a SubmodS3VM or QPS3VM"),
        ({"transducer": SubmodS3VM(kernel="precomputed")}, "'transducer'"),
        ({"mode": "batch"}, "'mode' of StreamS3VM must be one of 'incremental', 'online', got 'batch'"),
        ({"tol": 1.5}, "'tol' of StreamS3VM must be a number from 0 to 1, got 1.5"),
        ({"tol": -0.1}, "'tol'"),
        ({"cap": -1}, "'cap'"),
        ({"label_cap": 0}, "'label_cap'"),
        ({"memory_rows": 1}, "'memory_rows'"),
        ({"ahead": 1}, "'ahead'"),
        ({"estimator": 3}, "'estimator'"),
    ],
)
def test_bad_parameters(params, words):
    X, y = clouds(10, 0)
    for learn in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=words):
            getattr(StreamS3VM(**params), learn)(X, y)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.full((3, 5), np.nan), [1, 1, 1], "NaN"),
        (np.ones((3, 4)), [1, 1, 1], "features"),
        (np.ones((3, 5)), [1, 1], "inconsistent"),
        (np.ones((3, 5)), ["a", "b", "a"], "labels before were such as"),
        (np.ones((3, 5)), [[1, 2]] * 3, "1d array"),
        (np.ones((3, 5)), [0.5, 1.5, 2.5], "continuous"),
        (np.ones((21, 5)), None, "takes batches of half as many"),
    ],
)
def test_bad_batches_leave_it_as_it_was(X, y, words):
    rows, labels = clouds(20, 0)
    model = stream_of(memory_rows=40, estimator="auto").partial_fit(rows, labels)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X, y)
    assert vars(model) == before
    with pytest.raises(ValueError, match=words):
        model.fit(X, y) if words not in ("features", "labels before were such as") else model.partial_fit(
            X, y
        )
    assert vars(model) == before
    np.testing.assert_array_equal(clone(model).fit(rows, labels).predict(rows), model.predict(rows))
