"""Calls with one row take a shorter path: the same models, errors and warnings as on the long one."""

import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from everlearn import IDSVM, LASVM, NORMA, RBP, BudgetKernelPerceptron, Forgetron, KernelPA, Projectron
from everlearn._base import persist, validate
from everlearn._base.learner import KernelLearner
from everlearn._base.online import StreamLearner
from property_helpers import property_test

FEATURES = 4
LEARNERS = [
    RBP(budget=8, gamma=0.5, random_state=0),
    BudgetKernelPerceptron(budget=8, gamma=0.5, random_state=0),
    Forgetron(budget=8, gamma=0.5, random_state=0),
    Forgetron(budget=8, kernel="linear", random_state=0),
    NORMA(budget=8, gamma=0.5, random_state=0),
    NORMA(budget=8, gamma=0.5, nu=0.2, random_state=0),
    Projectron(budget=8, gamma=0.5, random_state=0),
    KernelPA(kernel="poly", degree=2, coef0=1.0, random_state=0),
    RBP(budget=8, gamma=0.5, class_weight="balanced", random_state=0),
    LASVM(gamma=0.5, random_state=0),
    LASVM(gamma=0.5, row_dtype="float16", random_state=0),
    RBP(kernel="cosine", budget=8, row_dtype="float16", random_state=0),
    IDSVM(gamma=0.5),
]
CLASSES = [[0, 1], [0, 1, 2], [False, True], [0.0, 1.0], ["a", "bb"]]


@contextmanager
def long_path():
    """Every call is validated by scikit-learn, and learned as a block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelLearner, "_single_row", lambda self, X: None)
        patch.setattr(StreamLearner, "_learn_one", lambda self, X, y: False)
        patch.setattr(validate, "_is_valid", lambda *arguments: False)
        yield


def begun(learner, classes, dtype=np.float64, frame=False):
    """A learner that has seen twelve rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(12, FEATURES)).astype(dtype) / 4
    y = np.array(classes)[np.arange(12) % len(classes)]
    X = pd.DataFrame(X, columns=list("abcd")) if frame else X
    made = type(learner)(**learner.get_params())
    return made.partial_fit(X, y, classes=classes)


def outcome(call):
    """What a call returns or raises, and which warnings it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call()
            found = found.tobytes(), found.shape, found.dtype if isinstance(found, np.ndarray) else None
        except Exception as error:
            found = type(error), str(error)
    return found, [(w.category, str(w.message)) for w in caught]


def model_of(learner):
    state = learner._get_state()
    return persist.pack({name: state[name] for name in ("fitted", "machine")})


def learn(learner, X, y):
    learner.partial_fit(X, y)
    return np.zeros(0)


def assert_same(learner, X, y, classes, **start):
    short, long = begun(learner, classes, **start), begun(learner, classes, **start)
    with long_path():
        expected = [outcome(lambda: long.decision_function(X)), outcome(lambda: long.predict(X))]
        expected.append(outcome(lambda: learn(long, X, y)))
    found = [outcome(lambda: short.decision_function(X)), outcome(lambda: short.predict(X))]
    found.append(outcome(lambda: learn(short, X, y)))
    assert found == expected
    assert model_of(short) == model_of(long)


VALUES = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([0.0, -0.0, 1e-310, 1e15, 1e60, 1e154, 1e300, np.nan, np.inf, -np.inf]),
)
ROWS = st.lists(VALUES, min_size=FEATURES, max_size=FEATURES)


@st.composite
def inputs(draw):
    """One row in a form that a caller may choose, good or bad."""
    row = draw(ROWS | st.lists(st.floats(-3, 3), min_size=0, max_size=6))
    kind = draw(st.sampled_from(FORMS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind, FORMS_OF[kind](row)


FORMS_OF = {
    "float64": lambda row: np.array([row]),
    "float32": lambda row: np.array([row], dtype=np.float32),
    "float16": lambda row: np.array([row], dtype=np.float16),
    "longdouble": lambda row: np.array([row], dtype=np.longdouble),
    "big-endian": lambda row: np.array([row], dtype=">f8"),
    "int": lambda row: np.nan_to_num(np.array([row])).clip(-9, 9).astype(int),
    "bool": lambda row: np.array([row]) > 0,
    "object": lambda row: np.array([row], dtype=object),
    "strings": lambda row: np.array([[str(value) for value in row]]),
    "words": lambda row: np.array([["word" for _ in row]]),
    "complex": lambda row: np.array([row], dtype=complex),
    "fortran": lambda row: np.asfortranarray([row, row])[:1],
    "strided": lambda row: np.array([row, row]).T.repeat(2, axis=1).T[::2][:1],
    "every other": lambda row: np.repeat([row], 2, axis=1)[:, ::2],
    "read only": lambda row: (
        np.frombuffer(np.array(row).tobytes()).reshape(1, -1) if row else np.array([row])
    ),
    "one dimension": lambda row: np.array(row),
    "three dimensions": lambda row: np.array([[row]]),
    "two rows": lambda row: np.array([row, row]),
    "no rows": lambda row: np.array([row])[:0],
    "list": lambda row: [row],
    "tuple": lambda row: (tuple(row),),
    "flat list": lambda row: row,
    "nested list": lambda row: [[[value] for value in row]],
    "uneven list": lambda row: [[*row, [1.0]]],
    "list of ints": lambda row: [[int(value) for value in np.nan_to_num(row).clip(-9, 9)]],
    "list of huge ints": lambda row: [[10**400 for _ in row]],
    "list of strings": lambda row: [[str(value) for value in row]],
    "mixed list": lambda row: [[*row[:-1], "x"]],
    "list with None": lambda row: [[*row[:-1], None]],
    "list of float32": lambda row: [[np.float32(value) for value in row]],
    "array in a list": lambda row: [np.array(row)],
    "matrix": lambda row: np.asmatrix(np.array([row])),
    "masked": lambda row: np.ma.masked_array([row], mask=[[place == 0 for place in range(len(row))]]),
    "frame": lambda row: pd.DataFrame([row]),
    "named frame": lambda row: pd.DataFrame([row], columns=[*"abcdef"][: len(row)]),
    "wrong names": lambda row: pd.DataFrame([row], columns=[*"uvwxyz"][: len(row)]),
    "csr": lambda row: sparse.csr_matrix(np.array([row])),
    "csc": lambda row: sparse.csc_array(np.array([row])),
    "None": lambda row: None,
    "number": lambda row: 1.5,
    "string": lambda row: "row",
}
FORMS = sorted(FORMS_OF)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_form_of_a_row_has_the_same_effect(kind, dtype):
    for row in (
        [0.1, -0.2, 0.3, 0.4],
        [0.1, 0.2, np.nan, 1.0],
        [1e200, 1.0, 1.0, 1.0],
        [1.0, 2.0],
        [1e19] * 4,
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = FORMS_OF[kind](row)
        for learner in (LEARNERS[0], LEARNERS[7]):
            assert_same(learner, X, [1], [0, 1], dtype=dtype)


@property_test(600)
@given(inputs(), st.sampled_from(LEARNERS), st.sampled_from(CLASSES), st.integers(0, 2), st.booleans())
def test_rows_of_any_kind(given_row, learner, classes, label, frame):
    _, X = given_row
    assert_same(learner, X, np.array(classes)[[label % len(classes)]], classes, frame=frame)


LABELS = [
    np.array([1]),
    np.array([1], dtype=np.int8),
    np.array([1], dtype=np.uint8),
    np.array([2]),
    np.array([7]),
    np.array([True]),
    np.array([1.0]),
    np.array([1.0], dtype=np.float32),
    np.array([0.5]),
    np.array([np.nan]),
    np.array(["a"]),
    np.array(["bb"], dtype="U9"),
    np.array(["zz"]),
    np.array(["a"], dtype=object),
    np.array([None], dtype=object),
    np.array([b"a"]),
    np.array([[1]]),
    np.array(1),
    np.array([1, 0]),
    np.array([], dtype=int),
    [1],
    [1.0],
    [True],
    ["a"],
    ["bb"],
    ["zz"],
    [None],
    [np.nan],
    [10**30],
    [np.int64(1)],
    [np.str_("bb")],
    [np.float32(1)],
    [np.bool_(True)],
    [[1]],
    [1, 0],
    [],
    (1,),
    pd.Series([1], index=[5]),
    np.ma.masked_array([1], mask=[True]),
    1,
    "a",
    None,
]


@pytest.mark.parametrize("y", LABELS, ids=repr)
@pytest.mark.parametrize("classes", CLASSES, ids=repr)
def test_every_form_of_a_label_has_the_same_effect(y, classes):
    for learner in (LEARNERS[0], LEARNERS[9]):
        assert_same(learner, np.array([[0.1, 0.2, 0.3, 0.4]]), y, classes)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("classes", CLASSES, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_stream_of_single_rows_gives_the_same_model(learner, classes, dtype):
    random = np.random.default_rng(1)
    X = random.normal(size=(60, FEATURES)).astype(dtype) / 4
    y = np.array(classes)[(np.abs(X).sum(axis=1) > 0.8).astype(int)]
    short, long = begun(learner, classes, dtype), begun(learner, classes, dtype)
    for place in range(len(X)):
        row, label = X[place : place + 1], y[place : place + 1]
        scores = short.decision_function(row), short.predict(row)
        short.partial_fit(row, label)
        with long_path():
            np.testing.assert_array_equal(scores[0], long.decision_function(row), strict=True)
            np.testing.assert_array_equal(scores[1], long.predict(row), strict=True)
            long.partial_fit(row, label)
    assert model_of(short) == model_of(long)


def test_single_rows_take_the_short_path(monkeypatch):
    learner = begun(LEARNERS[0], [0, 1])
    monkeypatch.setattr(StreamLearner, "_learn_more", None)
    monkeypatch.setattr(KernelLearner, "score_validated", None)
    for X in (np.zeros((1, FEATURES)), np.zeros((1, FEATURES), dtype=np.float32), [[0.0] * FEATURES]):
        for y in (np.array([1]), [1], [np.int64(0)]):
            assert learner.partial_fit(X, y).predict(X).shape == (1,)


@pytest.mark.parametrize("value", [0, True, "two", None, 2.5])
def test_a_bad_parameter_is_refused_after_rows_were_learned_with_a_good_one(value):
    learner = begun(RBP(budget=1, random_state=0), [0, 1])
    row = np.zeros((1, FEATURES))
    learner.partial_fit(row, [1])
    learner.budget = value  # True == 1, and is no number of rows
    before = model_of(learner)
    with pytest.raises(ValueError, match="The parameter 'budget' of RBP must be an integer"):
        learner.partial_fit(row, [1])
    assert model_of(learner) == before
    learner.set_params(budget=1).partial_fit(row, [1])


def test_a_parameter_that_changes_takes_effect_with_the_next_row():
    random = np.random.default_rng(2)
    X, y = random.normal(size=(200, FEATURES)), random.integers(0, 2, 200)
    learner = RBP(budget=50, gamma=0.5, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert learner.n_kept_ == 50
    learner.set_params(budget=10)
    for place in range(3):
        learner.partial_fit(X[place : place + 1], y[place : place + 1])
    assert learner.n_kept_ <= 10


def test_an_unchecked_parameter_is_refused_where_validated_rows_are_learned():
    learner = begun(LEARNERS[0], [0, 1])
    learner.budget = 0
    with pytest.raises(ValueError, match="The parameter 'budget'"):
        learner.learn_validated(np.zeros((1, FEATURES)), np.array([1]))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_an_id_in_use_is_found_on_the_short_path(learner):
    results = []
    for path in (long_path, warnings.catch_warnings):
        made = begun(learner, [0, 1])
        with path():
            made.partial_fit(np.full((1, FEATURES), 0.3), [0], ids=[made.last_id + 2])
            results.append(outcome(lambda made=made: learn(made, np.full((1, FEATURES), 0.2), [1])))
            results[-1] += (model_of(made),)
    assert results[0] == results[1]


def test_an_error_in_the_core_counts_nothing(monkeypatch):
    learner = begun(LEARNERS[0], [0, 1])

    class Broken:
        iterations, capped = learner._machine.native.iterations, 0

        def learn_one(self, *arguments):
            raise MemoryError

    before = learner.last_id, learner._label_counts.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner._machine, "native", Broken())
        with pytest.raises(MemoryError):
            learner.partial_fit(np.zeros((1, FEATURES)), [1])
    assert (learner.last_id, learner._label_counts.tolist()) == before


def test_the_label_of_a_single_row_is_a_copy():
    learner = begun(LEARNERS[0], [0, 1])
    found = learner.predict(np.zeros((1, FEATURES)))
    found[:] = 9
    assert learner.classes_.tolist() == [0, 1]
