"""Saving and loading: what comes back bit for bit, and what cannot be saved."""

import enum
import functools
import io
import os
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from base.persist_helpers import Toy, same, saved, small_state
from everlearn._base import archive
from everlearn._base.persist import load, register, save
from property_helpers import property_test

# Round trips.

texts = st.text(max_size=5) | st.sampled_from(["\ud83d\ude00", "\udc80", "a\x00", "\U0001f600", "Ω", '"\\'])
dtypes = hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.unsigned_integer_dtypes()
dtypes |= hnp.floating_dtypes() | hnp.complex_number_dtypes() | hnp.unicode_string_dtypes(max_len=4)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
arrays = hnp.arrays(dtypes, shapes)
dense = hnp.arrays(st.sampled_from([np.float32, np.float64, np.int64]), (3, 4))
leaves = st.none() | st.booleans() | st.integers() | st.integers().map(lambda i: i << 70) | st.floats()
leaves |= texts | texts.map(np.str_) | hnp.arrays(object, shapes, elements=texts) | dtypes.map(np.dtype)
leaves |= arrays | arrays.map(np.asfortranarray) | arrays.filter(np.size).map(lambda array: array.ravel()[0])
leaves |= dense.map(sparse.csr_matrix) | dense.map(sparse.csr_array)
trees = st.recursive(
    leaves,
    lambda some: (
        st.lists(some, max_size=3).flatmap(lambda items: st.sampled_from([items, tuple(items)]))
        | st.dictionaries(texts | st.sampled_from(["dict", "array"]), some, max_size=3)
    ),
    max_leaves=8,
)


@property_test(150)
@given(st.dictionaries(texts, trees, max_size=4))
def test_any_state_comes_back_bit_for_bit(tmp_path_factory, state):
    path = tmp_path_factory.getbasetemp() / "property.everlearn"
    save(Toy(state), path)
    back = load(path)
    assert type(back) is Toy
    assert same(back.state, state)


def test_special_values(tmp_path):
    values = [float("nan"), -0.0, -(2**63), 2**63, 10**5000, np.dtype(object)]
    values += [np.array([], dtype="U7"), np.zeros((0, 3), order="F"), np.arange(10)[::-3], np.eye(2)[:, :1]]
    values += [np.empty((2, 0), dtype=object), np.array("a", dtype=object), np.array([["b\0"]], dtype=object)]
    values += [sparse.csr_matrix((2, 0)), np.random.default_rng(0).bit_generator.state]
    values += [sparse.csr_matrix((np.ones(3), [1, 1, 0], [0, 3, 3]), shape=(2, 2))]  # duplicates, not sorted
    for value in values:
        assert same(load(saved(tmp_path, {"value": value})).state["value"], value)
    third = np.longdouble(1) / 3  # has padding, whose bits mean nothing
    assert load(saved(tmp_path, {"value": third})).state["value"] == third


def test_index_types_and_spare_room_of_csr_survive_and_saving_leaves_them_alone(tmp_path):
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    matrix.data, matrix.indices = np.append(matrix.data, 9.0), np.append(matrix.indices, 0)
    parts = matrix.data, matrix.indices, matrix.indptr
    back = load(saved(tmp_path, {"rows": matrix})).state["rows"]
    assert all(map(same, (back.data, back.indices, back.indptr), parts))
    assert all(a is b for a, b in zip((matrix.data, matrix.indices, matrix.indptr), parts, strict=True))


def test_a_memory_map_comes_back_as_an_array_that_can_be_written_to(tmp_path):
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=(4,))
    mapped[:] = range(4)
    rows = load(saved(tmp_path, {"rows": mapped})).state["rows"]
    assert same(rows, np.arange(4.0))
    rows[0] = 1


def test_equal_states_give_equal_files_for_str_and_path(tmp_path):
    save(Toy(small_state()), tmp_path / "a")
    save(Toy(small_state()), str(tmp_path / "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert same(load(str(tmp_path / "a")).state, small_state())


# What cannot be saved.


@pytest.mark.parametrize("kernel", [lambda a, b: 0, np.dot, functools.partial(np.dot), Toy])
def test_a_callable_is_refused_with_its_place_and_a_remedy(tmp_path, kernel):
    with pytest.raises(TypeError, match=r"state\['params'\]\[0\]\['kernel'\] is a callable .*kernel='rbf'"):
        save(Toy({"params": [{"kernel": kernel}]}), tmp_path / "model")
    assert os.listdir(tmp_path) == []


UNSAVABLE = [b"bytes", {1, 2}, object(), np.random.RandomState(0), enum.IntEnum("Color", "RED").RED]
UNSAVABLE += [OrderedDict(a=1), namedtuple("Pair", "a b")(1, 2)]
UNSAVABLE += [np.array([1, "a"], dtype=object), np.array([b"a"]), np.zeros(2, dtype=[("a", "f8")])]
UNSAVABLE += [np.array(["2020-01-01"], dtype="M8[D]"), np.datetime64("2020-01-01"), np.dtype([("a", "f8")])]
UNSAVABLE += [np.ma.masked_array([1.0], [True]), sparse.csc_matrix(np.eye(2))]


@pytest.mark.parametrize("value", UNSAVABLE, ids=lambda value: type(value).__name__)
def test_anything_else_is_refused_with_its_place(tmp_path, value):
    path = saved(tmp_path)
    with pytest.raises(TypeError, match=r"state\['a'\]\[1\] is an? .* cannot be saved\. Convert it"):
        save(Toy({"a": (0, value)}), path)
    assert os.listdir(tmp_path) == [path.name]
    assert same(load(path).state, small_state())


def test_other_states_that_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"state\['a'\] has the key 1: only dicts with str keys"):
        save(Toy({"a": {1: 2}}), tmp_path / "model")
    loop = {}
    loop["a"] = loop
    with pytest.raises(ValueError, match="contains itself"):
        save(Toy(loop), tmp_path / "model")
    broken = sparse.csr_matrix(np.eye(2))
    broken.indices[0] = 7
    with pytest.raises(ValueError, match=r"state\['a'\] is not a valid CSR matrix"):
        save(Toy({"a": broken}), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_only_registered_classes_are_saved(tmp_path):
    class Heir(Toy):
        pass

    with pytest.raises(TypeError, match="Heir cannot be saved: it is not a registered class"):
        save(Heir({}), tmp_path / "model")
    with pytest.raises(TypeError, match="no method _get_state"):
        register(int)
    with pytest.raises(ValueError, match="Toy is already registered"):
        register(type("Toy", (Toy,), {"__module__": "elsewhere"}))
    assert register(Toy) is Toy


@pytest.mark.parametrize(
    "given_arrays",
    [
        [],
        [np.zeros(3)],
        [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(20)[::3]],
        [np.array(["a", "bcd"]), np.array(5), np.zeros((0, 4)), np.array([True]), np.array([1 + 2j])],
    ],
)
def test_a_small_file_has_the_bytes_that_zipfile_writes(given_arrays, monkeypatch):
    files = []
    for small in (1 << 16, 0):
        monkeypatch.setattr(archive, "_SMALL", small)
        archive.write(file := io.BytesIO(), {"magic": archive.MAGIC, "name": "\u00e9\udc80"}, given_arrays)
        files.append(file.getvalue())
    assert files[0] == files[1]
