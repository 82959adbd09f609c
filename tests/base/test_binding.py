"""What the native core refuses at its border: numbers that would be looked up beyond an array."""

import numpy as np
import pytest

from everlearn import _core
from everlearn._base.machine import _SOLVERS

SPEC = {
    "kernel": "rbf",
    "gamma": 1.0,
    "coef0": 0.0,
    "degree": 3,
    "layout": "dense",
    "precision": "float64",
    "width": 2,
    "classes": 3,
    "center": np.zeros(0),
}
ROWS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
LABELS, COSTS = np.array([0, 1, 2], dtype=np.int32), np.ones(3)
IDS = WHICH = np.arange(3)

BAD_ROWS = {
    "a label too large": ({"labels": np.array([0, 1, 3], dtype=np.int32)}, "label 3 is not .* 3 classes"),
    "a label below 0": ({"labels": np.array([0, -1, 2], dtype=np.int32)}, "label -1"),
    "too few labels": ({"labels": LABELS[:2]}, "an entry for each of the 3 rows"),
    "too few costs": ({"costs": COSTS[:2]}, "an entry for each of the 3 rows"),
    "too few ids": ({"ids": IDS[:2]}, "an entry for each of the 3 rows"),
    "a row beyond the end": ({"which": np.array([0, 3])}, "row 3 is not one of the 3 rows"),
    "a row before the first": ({"which": np.array([-1])}, "row -1"),
    "a wider row": ({"rows": np.zeros((3, 5))}, "width 5 do not fit rows of width 2"),
    "a narrower row": ({"rows": np.zeros((3, 1))}, "width 1"),
    "a cost below 0": ({"costs": np.array([1.0, -1.0, 1.0])}, "costs must be finite"),
    "a cost that is no number": ({"costs": np.array([1.0, np.nan, 1.0])}, "costs must be finite"),
    "an id twice": ({"ids": np.array([4, 5, 4])}, "the id 4 is there twice"),
    "a reserved id": ({"ids": np.array([4, 5, np.iinfo(np.int64).min])}, "reserved"),
}


def machine(solver, **spec):
    return _SOLVERS[solver](**(SPEC | spec))


def arguments(rows=ROWS, labels=LABELS, costs=COSTS, ids=IDS, which=WHICH):
    return _core.Block.dense(rows), labels, costs, ids, which


@pytest.mark.parametrize("bad", BAD_ROWS)
@pytest.mark.parametrize("solver", _SOLVERS)
def test_labeled_rows_are_checked(solver, bad):
    changes, words = BAD_ROWS[bad]
    native = machine(solver)
    with pytest.raises(ValueError, match=words):
        native.learn(*arguments(**changes))
    assert (native.size, native.iterations) == (0, 0)
    native.learn(*arguments())
    assert native.iterations == 3


@pytest.mark.parametrize("method", ["seed", "gather"])
@pytest.mark.parametrize("bad", BAD_ROWS)
def test_other_ways_in_are_checked(method, bad):
    changes, words = BAD_ROWS[bad]
    for solver in ("lasvm",) if method == "seed" else ("ramp", "incremental"):
        native = machine(solver)
        with pytest.raises(ValueError, match=words):
            getattr(native, method)(*arguments(**changes))
        getattr(native, method)(*arguments())
        with pytest.raises(ValueError, match="id 0 is kept already"):
            getattr(native, method)(*arguments())


def test_scores_of_seeds_are_checked():
    native = machine("lasvm")
    for shape in ((2, 3), (3, 2), (0, 3)):
        with pytest.raises(ValueError, match="scores do not match the rows"):
            native.seed_scored(*arguments(), np.zeros(shape))
    with pytest.raises(ValueError, match="row 3 is not one of the 3 rows"):
        native.seed_scored(*arguments(which=np.array([3])), np.zeros((3, 3)))
    assert native.size == 0
    native.seed_scored(*arguments(), np.zeros((3, 3)))
    assert native.ids.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="id 0 is kept already"):
        native.seed_scored(*arguments(), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="need features"):
        machine("lasvm", layout="external", width=0).seed_scored(*arguments(np.eye(3)), np.zeros((3, 3)))


def test_no_row_gets_a_score():
    native = machine("lasvm")
    native.learn(*arguments())
    sums, none = np.ones((3, 3)), np.zeros(0, dtype=np.int64)
    native.add_kernel_sums(arguments()[0], IDS, np.ones((3, 3)), none, sums)
    assert (sums == 1).all()


def test_selected_rows_are_checked():
    native = machine("lasvm")
    native.seed(*arguments())
    block, labels, costs, ids, _ = arguments(ids=IDS + 3)
    for remaining, pool, words in (([3], 5, "row 3"), ([-1], 5, "row -1"), ([0], 0, "pool must be above 0")):
        with pytest.raises(ValueError, match=words):
            native.learn_selected(block, labels, costs, ids, np.array(remaining), "gradient", pool, 1)


@pytest.mark.parametrize("solver", _SOLVERS)
def test_rows_to_score_and_slots_are_checked(solver):
    native = machine(solver)
    native.learn(*arguments())
    with pytest.raises(ValueError, match="width 3 do not fit rows of width 2"):
        native.decide(_core.Block.dense(np.zeros((1, 3))), 1)
    for slot in (-1, native.size):
        with pytest.raises(ValueError, match=f"slot {slot} is not"):
            native.rows(np.array([slot]), as_stored=True)


@pytest.mark.parametrize("solver", _SOLVERS)
def test_kernel_values_of_the_caller_are_checked(solver):
    native = machine(solver, layout="external", width=0)
    rows = np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
    native.learn(*arguments(rows))
    with pytest.raises(ValueError, match="do not fit"):
        native.decide(_core.Block.dense(np.zeros((1, native.size - 1))), 1)


def test_relabeling_and_forgetting_are_checked():
    native = machine("incremental")
    native.learn(*arguments())
    one, factor = np.array([1]), np.ones(1)
    for label in (-1, 3):
        with pytest.raises(ValueError, match=f"label {label}"):
            native.relabel(one, np.array([label], dtype=np.int32), factor)
    with pytest.raises(ValueError, match="factors must be finite"):
        native.relabel(one, np.array([1], dtype=np.int32), np.array([np.nan]))
    with pytest.raises(ValueError, match="the id 1 is there twice"):
        native.forget(np.array([1, 1]))
    with pytest.raises(ValueError, match="id 0 is kept already"):
        native.learn(*arguments())
    assert native.ids.tolist() == [0, 1, 2]


def test_a_machine_is_built_for_rows_that_it_can_hold():
    for change, words in (
        ({"classes": 1}, "at least two classes"),
        ({"center": np.zeros(3)}, "center must be empty"),
        ({"center": np.zeros(2), "layout": "sparse"}, "center must be empty"),
    ):
        with pytest.raises(ValueError, match=words):
            machine("lasvm", **change)


def test_sparse_rows_are_checked():
    values, starts = np.ones(2), np.array([0, 1, 2])
    for columns in ([0, 2], [-1, 0]):
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            _core.Block.csr(values, np.array(columns, dtype=np.int32), starts, 2)


@pytest.mark.parametrize("kind", [_core.Oam, lambda **spec: _core.Opauc(**spec, rank=0)])
def test_linear_learners_check_their_rows(kind):
    native = kind(width=2, classes=3)
    block = _core.Block.dense(ROWS)
    for args, words in (
        ((_core.Block.dense(np.zeros((3, 5))), LABELS, COSTS, WHICH), "width 5"),
        ((block, LABELS[:2], COSTS, WHICH), "an entry for each"),
        ((block, LABELS, COSTS[:2], WHICH), "an entry for each"),
        ((block, LABELS, COSTS, np.array([3])), "row 3"),
        ((block, LABELS + 1, COSTS, WHICH), "label 3"),
    ):
        with pytest.raises(ValueError, match=words):
            native.learn(*args)
    assert native.iterations == 0


def test_similarities_check_their_rows():
    kept = _core.KernelRows(_core.Block.dense(ROWS), "rbf", 1.0, 0.0, 3)
    with pytest.raises(ValueError, match="width 4"):
        kept.times(_core.Block.dense(np.zeros((2, 4))), np.ones((3, 1)), 1)
    with pytest.raises(ValueError, match="a line for each kept row"):
        kept.times(_core.Block.dense(ROWS), np.ones((2, 1)), 1)
