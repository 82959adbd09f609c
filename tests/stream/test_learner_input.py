"""Every bad input to the never-ending learner: an error that says why, and nothing has changed."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

from everlearn import IDSVM, LASVM, query
from everlearn.errors import StoreError
from everlearn.evaluate import Prequential
from everlearn.evaluate.score_history import ScoreHistory
from everlearn.store.log import Writing
from everlearn.stream import NeverEndingLearner
from everlearn.stream._learner_state import LearnerState
from everlearn.stream._row_buffer import RowBuffer
from stream.stream_helpers import bits, opened, unchanged, xor

X, Y = xor(60)
ROWS = np.zeros((3, 2))


def with_value(value):
    rows = ROWS.copy()
    rows[1, 1] = value
    return rows


STEPS = {
    "NaN": (ValueError, "NaN", (with_value(np.nan),), {}),
    "infinity": (ValueError, "infinity", (with_value(np.inf),), {}),
    "minus infinity, sparse": (ValueError, "infinity", (sparse.csr_matrix(with_value(-np.inf)),), {}),
    "too large": (ValueError, "overflows", (with_value(1e200),), {}),
    "too large, sparse": (ValueError, "overflows", (sparse.csr_matrix(with_value(-1e200)),), {}),
    "too large once scaled": (ValueError, "overflow", (with_value(9e149) * 1e1,), {}),
    "too many features": (ValueError, "3 features.*have 2", (np.zeros((3, 3)),), {}),
    "too few features": (ValueError, "1 features.*have 2", (sparse.csr_matrix((3, 1)),), {}),
    "no row, other features": (ValueError, "features", (np.zeros((0, 5)),), {}),
    "one dimension": (ValueError, "1D", (np.zeros(2),), {}),
    "three dimensions": (ValueError, "dim", (np.zeros((2, 2, 2)),), {}),
    "strings": (ValueError, "convert", ([["a", "b"]],), {}),
    "complex": (ValueError, "[Cc]omplex", (ROWS * 1j,), {}),
    "nothing": (ValueError, "NoneType|array", (None,), {}),
    "y too short": (ValueError, "each of 3 rows", (ROWS, [0, 1]), {}),
    "y a scalar": (ValueError, "shape", (ROWS, 1), {}),
    "y a string": (ValueError, "shape", (ROWS, "abc"), {}),
    "y of two columns": (ValueError, "shape", (ROWS, np.zeros((3, 2))), {}),
    "mixed kinds": (ValueError, "all integers, all strings or all bools", (ROWS, [0, "1", None]), {}),
    "another kind than before": (ValueError, "all integers", (ROWS, ["a", "b", "a"]), {}),
    "bools after integers": (ValueError, "all integers", (ROWS, [True, False, None]), {}),
    "half a label": (ValueError, "0.5", (ROWS, [0.5, 1, 0]), {}),
    "infinite label": (ValueError, "inf", (ROWS, [np.inf, 1, 0]), {}),
    "a list for a label": (ValueError, "Labels", (ROWS, [[1], 1, 0]), {}),
    "bytes for a label": (ValueError, "b'a'", (ROWS, [b"a", None, None]), {}),
    "a label beyond 64 bits": (ValueError, "64 bits", (ROWS, [2**63, None, None]), {}),
    "a label that ends with zero": (ValueError, "null character", (ROWS, ["a\0", None, None]), {}),
    "too few ids": (ValueError, "2 ids for 3 rows", (ROWS,), {"ids": [100, 101]}),
    "an id twice": (ValueError, "'a' more than once", (ROWS,), {"ids": ["a", "b", "a"]}),
    "an id twice, of NumPy": (ValueError, "7 more than once", (ROWS,), {"ids": [7, np.int64(7), 8]}),
    "an id from before": (ValueError, "Duplicate id 5: ids must be unique", (ROWS,), {"ids": [100, 5, 101]}),
    "no id": (TypeError, "None", (ROWS,), {"ids": [100, None, 101]}),
    "a float id": (TypeError, "1.5", (ROWS,), {"ids": [100, 1.5, 101]}),
    "a bool id": (TypeError, "True", (ROWS,), {"ids": [100, True, 101]}),
    "a tuple id": (TypeError, "tuple", (ROWS,), {"ids": [100, (1, 2), 101]}),
    "time NaN": (ValueError, "time", (ROWS,), {"time": float("nan")}),
    "time infinite": (ValueError, "time", (ROWS,), {"time": float("inf")}),
    "time a string": (TypeError, "isfinite|time", (ROWS,), {"time": "now"}),
}
CALLS = {
    "label of nobody": (ValueError, "No row with the id 999", "label", ([0, 999], [0, 1])),
    "label of a string": (ValueError, "No row with the id '0'", "label", (["0"], [0])),
    "label of True": (TypeError, "True", "label", ([True], [0])),
    "label of 1.5": (TypeError, "1.5", "label", ([1.5], [0])),
    "label of None": (TypeError, "None", "label", ([None], [0])),
    "label twice": (ValueError, "50 more than once", "label", ([50, 51, 50], [0, 1, 0])),
    "label missing": (ValueError, "No label given for id 51", "label", ([50, 51], [0, None])),
    "label NaN": (ValueError, "No label given for id 50", "label", ([50, 51], [np.nan, 1])),
    "labels too few": (ValueError, "each of 2 rows", "label", ([50, 51], [1])),
    "no labels": (ValueError, "No label given for id 50", "label", ([50], None)),
    "half a label": (ValueError, "0.5", "label", ([50], [0.5])),
    "a label of another kind": (ValueError, "all integers", "label", ([50], ["0"])),
    "withdraw nobody": (ValueError, "No row with the id 999", "withdraw", ([0, 999],)),
    "withdraw without a label": (ValueError, "No label to withdraw for id 55", "withdraw", ([0, 55],)),
    "withdraw twice": (ValueError, "0 more than once", "withdraw", ([0, 0],)),
    "withdraw None": (TypeError, "None", "withdraw", ([None],)),
    "ask for less than none": (ValueError, "-1", "ask", (-1,)),
    "ask for half": (ValueError, "0.5", "ask", (0.5,)),
    "ask for True": (ValueError, "True", "ask", (True,)),
    "predict NaN": (ValueError, "NaN", "predict", (with_value(np.nan),)),
    "predict other features": (ValueError, "3 features", "predict", (np.zeros((1, 3)),)),
    "decide on infinity": (ValueError, "infinity", "decision_function", (with_value(np.inf),)),
}


@pytest.fixture(
    params=[LASVM(C=10, gamma=0.5), IDSVM(C=10, gamma=0.5)], ids=["lasvm", "idsvm"], scope="module"
)
def learner(request, tmp_path_factory):
    with opened(tmp_path_factory.mktemp("bad") / "store", request.param) as made:
        made.step(X[:40], Y[:40])
        made.step(X[40:])
        yield made


@pytest.mark.parametrize("name", STEPS)
def test_a_batch_that_cannot_be_taken_in(learner, name):
    error, message, args, options = STEPS[name]
    with unchanged(learner), pytest.raises(error, match=message):
        learner.step(*args, **options)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_cannot_be_done(learner, name):
    error, message, method, args = CALLS[name]
    with unchanged(learner), pytest.raises(error, match=message):
        getattr(learner, method)(*args)


def then_fails(function):
    """The function as it is, but once: then it does its work and is interrupted."""
    times = []

    def failing(*args, **options):
        found = function(*args, **options)
        times.append(1)
        if len(times) == 1:
            raise KeyboardInterrupt
        return found

    return failing


@pytest.mark.parametrize("recovery_fails", [False, True])
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (LearnerState, "_ask"),
        (ScoreHistory, "add"),
        (RowBuffer, "add"),
        (Prequential, "update"),
        (Writing, "add"),
    ],
)
def test_what_is_interrupted_is_taken_back(learner, monkeypatch, owner, name, recovery_fails):
    """A fold that has changed its state in part, a commit that fails; and reading it back fails as well."""
    calls = [("step", X[:10], Y[:10])] + [("label", [50], [1]), ("withdraw", [0])] * (owner is Writing)
    for call, *args in calls:
        with unchanged(learner):
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, then_fails(getattr(owner, name)))
                if recovery_fails:
                    patch.setattr(type(learner._log), "snapshot", then_fails(type(learner._log).snapshot))
                with pytest.raises(KeyboardInterrupt):
                    getattr(learner, call)(*args)
            learner.predict(X)


def test_rows_too_large_once_they_are_scaled_are_refused():
    with opened() as learner:
        learner.step(X * 1e-9, Y)
        with unchanged(learner), pytest.raises(ValueError, match="overflow"):
            learner.step(np.full((2, 2), 1e149))


def test_what_looks_odd_and_is_accepted():
    with opened() as learner:
        empty = learner.step(np.zeros((0, 2)))
        assert (empty.ids, empty.predictions.tolist(), empty.questions) == ([], [], [])
        learner.step(X[:30], Y[:30], time=1e9)
        learner.step(np.zeros((0, 2)), [], ids=[], time=-1e9)  # a clock that goes back
        learner.step(sparse.csr_matrix((0, 2)))
        assert learner.predict(np.zeros((0, 2))).tolist() == []
        learner.step(X[30:40].tolist(), np.full(10, np.nan))
        learner.step(X[40:50].astype(np.float32), [None] * 10, ids=np.arange(40, 50))
        learner.step(X[50:], np.array([1.0] * 9 + [np.nan]))
        with unchanged(learner):
            learner.label([], [])
            learner.withdraw([])
        assert learner.status()["rows"] == 60


def test_numbered_rows_do_not_take_the_ids_of_named_ones():
    with opened() as learner:
        learner.step(X[:3], ids=[3, 4, 5])
        with unchanged(learner), pytest.raises(ValueError, match="Duplicate id 3, 4, 5:"):
            learner.step(X[:3])


def test_a_label_that_is_not_among_the_classes():
    with opened(classes=["no", "yes"]) as learner:
        learner.step(X, ["no"] * 60)
        for wrong in ("maybe", 1):
            with unchanged(learner), pytest.raises(ValueError, match=r"classes|all integers"):
                learner.label([0], [wrong])
        learner.label([0], ["yes"])


@pytest.mark.parametrize("classes", [None, [0, 1], [False, True], ["0", "1"]])
@pytest.mark.parametrize("label", [0, 2, True, "1"])
def test_the_label_of_one_row_is_checked_as_in_a_list(classes, label):
    with opened(classes=classes) as learner, opened(classes=classes) as other:
        for given, store in ((np.array([label]), learner), ([label], other)):
            store.step(X[:20], None if classes is None else [classes[at] for at in Y[:20]], time=0.0)
            try:
                store.step(X[:1], given, time=0.0)
            except ValueError as error:
                message = str(error)
            else:
                message = "accepted"
            if store is learner:
                expected = message
        assert message == expected
        assert bits(learner) == bits(other)


SETTINGS = {
    "memory_rows": [0, -1, 1.5, True, "many", None],
    "label_rate": [-0.1, 1.1, np.nan, "often", None, True],
    "label_budget": [-1, 0.5, "none", True],
    "audit": [-0.1, 1.1, np.nan, "all", None],
    "scaling": ["minmax", None, 1],
    "window": [0, 2.5, None],
    "snapshot_every": [0, -5, 1.5, "x", None, True],
    "classes": [[], [1], [0.5, 1.5], [1, "a"], [[1, 2]], [None, 1], [1, 1], "ab", 3],
    "query_strategy": ["best", 3, SVC()],
    "drift": ["wind", 3],
    "semi_supervised": [LASVM(), "s3vm"],
    "exemplars": [LASVM(), 5],
    "learner": [LASVM, SVC(), SGDClassifier(), "lasvm", LASVM(kernel=lambda a, b: a @ b.T)],
    "scale_features": [[True], [[True, True]], [True, True, True]],
    "random_state": ["x", -1],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_out_of_range(tmp_path, name):
    for number, wrong in enumerate(SETTINGS[name]):
        place = tmp_path / str(number)
        with pytest.raises((ValueError, TypeError)) as caught, opened(place, **{name: wrong}) as learner:
            learner.step(X, Y)  # where only the first rows tell
        assert name in str(caught.value) or name in ("learner", "drift", "random_state"), caught.value
        with opened(place) as learner:  # the name is not spoilt
            assert learner.status()["events"] == 0


def test_a_query_strategy_that_needs_the_labels_is_refused(tmp_path):
    place = tmp_path / "store"
    with pytest.raises(ValueError, match=r"query_strategy=Gradient\(.*needs the labels.*use Margin\(\)"):
        opened(place, query_strategy=query.Gradient())
    with opened(place) as learner:  # the store can still be made
        assert learner.status()["events"] == 0


def test_another_learner_on_reopening(tmp_path):
    place = tmp_path / "store"
    with opened(place) as learner:
        learner.step(X, Y)
        state = bits(learner)
    for other in (LASVM(C=11, gamma=0.5), IDSVM(C=10, gamma=0.5)):
        with pytest.raises(StoreError, match=r"was created with learner=LASVM.*replay"):
            NeverEndingLearner.open(place, other)
    for wrong in (LASVM, SGDClassifier()):
        with pytest.raises((TypeError, StoreError)):
            NeverEndingLearner.open(place, wrong)
        with pytest.raises(TypeError, match="learner"):
            NeverEndingLearner.replay(place, wrong)
    with NeverEndingLearner.open(place, LASVM(C=10, gamma=0.5)) as learner:
        assert bits(learner) == state
    with pytest.raises(StoreError, match="not empty"):
        NeverEndingLearner.replay(place, into=place.with_name("store"))


def test_a_store_that_is_closed():
    learner = opened()
    learner.step(X, Y)
    learner.close()
    calls = [("step", X), ("label", [0], [1]), ("withdraw", [0]), ("ask", 1), ("predict", X), ("status",)]
    for name, *args in [
        *calls,
        ("report_data",),
        ("decision_function", X),
        ("rescale",),
        ("set_schema", {"a": 1}),
    ]:
        with pytest.raises(StoreError, match="closed"):
            getattr(learner, name)(*args)
    learner.close()


def test_a_query_strategy_that_could_not_be_found_again_is_refused(tmp_path):
    class Margin(query.Margin):
        pass

    class Mine(query.Margin):
        pass

    for cls in (Margin, Mine):
        with pytest.raises(TypeError, match=r"a class of everlearn\.query"):
            opened(tmp_path / "store", query_strategy=cls())
    opened(tmp_path / "store", query_strategy=query.Margin()).close()
