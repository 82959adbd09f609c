import enum
import functools
import io
import json
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import time
import zipfile
from collections import OrderedDict, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from everlearn import _persist
from everlearn._persist import load, register, save
from everlearn.errors import CoreError, EverlearnError, FileFormatError


@register
class Toy:
    def __init__(self, state):
        self.state = state

    def _get_state(self):
        return self.state

    @classmethod
    def _from_state(cls, state):
        return cls(state)


@register
class Picky(Toy):
    @classmethod
    def _from_state(cls, state):
        return cls({"weight": state["weight"]})


def same(a, b):
    """Equal in type and in every bit, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if sparse.issparse(a):
        parts = ("data", "indices", "indptr")
        return a.shape == b.shape and all(same(getattr(a, part), getattr(b, part)) for part in parts)
    if isinstance(a, (np.ndarray, np.generic)) and a.dtype != object:
        order = "F" if np.isfortran(np.asarray(a)) else "C"
        bits = a.tobytes(order) == b.tobytes(order)
        return a.dtype == b.dtype and a.shape == b.shape and bits and np.isfortran(b) == (order == "F")
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and same(a.ravel().tolist(), b.ravel().tolist())
    return repr(a) == repr(b) if isinstance(a, float) else a == b


def small_state():
    return {
        "C": 10.0,
        "gamma": "scale",
        "big": 2**100,
        "inf": float("-inf"),
        "rows": np.arange(3.0),
        "labels": np.array(["no", "yes"], dtype=object),
        "nested": [None, True, (1, {"bias": np.float32(0.5)})],
    }


def saved(tmp_path, state=None):
    path = tmp_path / "model.everlearn"
    save(Toy(small_state() if state is None else state), path)
    return path


def content_of(path):
    """The header as a dict, and the other members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("header.json")), members


def forge(path, header, members, compression=zipfile.ZIP_STORED):
    """A file with a right digest around any content."""
    with open(path, "w+b") as file:
        with zipfile.ZipFile(file, "w", compression) as archive:
            archive.comment = _persist._SEAL + b"0" * _persist._DIGEST_CHARS
            archive.writestr("header.json", header if isinstance(header, str) else json.dumps(header))
            for name, data in members.items():
                archive.writestr(name, data)
        _persist._seal(file)


def refused(path, words):
    """Loading fails with the path and these words in the message."""
    with pytest.raises(FileFormatError, match=words) as caught:
        load(path)
    assert repr(os.fspath(path)) in str(caught.value)


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


@settings(max_examples=150, deadline=None)
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


UNSAVABLE = [b"bytes", {1, 2}, object(), np.random.RandomState(0), enum.IntEnum("Colour", "RED").RED]
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


# Files that cannot be loaded.


def test_a_truncated_file_is_refused_at_every_length(tmp_path):
    whole = saved(tmp_path).read_bytes()
    path = tmp_path / "short"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refused(path, "it is ")
    path.write_bytes(whole + b"\0")
    refused(path, "truncated or damaged")


@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF])
def test_a_flipped_byte_is_noticed_at_every_offset(tmp_path, mask):
    whole = bytearray(saved(tmp_path).read_bytes())
    path = tmp_path / "flipped"
    for offset in range(len(whole)):
        whole[offset] ^= mask
        path.write_bytes(whole)
        refused(path, "it is truncated or damaged")
        whole[offset] ^= mask


def test_a_flipped_byte_under_a_right_digest_never_changes_the_state(tmp_path):
    # What the checks behind the digest are worth: the checksums of the zip guard the content.
    whole = saved(tmp_path).read_bytes()
    path = tmp_path / "forged"
    refusals = 0
    for offset in range(len(whole) - _persist._DIGEST_CHARS - len(_persist._SEAL)):
        flipped = bytearray(whole)
        flipped[offset] ^= 0xFF
        with open(path, "w+b") as file:
            file.write(flipped)
            _persist._seal(file)
        try:
            assert same(load(path).state, small_state())
        except FileFormatError:
            refusals += 1
    assert refusals > len(whole) // 2


def test_foreign_files(tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(b"")
    refused(path, "it is empty")
    path.write_bytes(b"weight,height\n1,2\n" * 100)
    refused(path, "it is not a file of everlearn")
    np.savez(path.with_suffix(".npz"), a=np.arange(3))
    refused(path.with_suffix(".npz"), "a zip archive that everlearn did not write")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    refused(path, "a zip archive that everlearn did not write")
    with zipfile.ZipFile(path, "w"):
        pass
    refused(path, "a zip archive that everlearn did not write")


def test_a_missing_file_and_a_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(IsADirectoryError):
        save(Toy({}), tmp_path)
    with pytest.raises(TypeError):
        load(3)


def test_headers_that_are_refused(tmp_path):
    path = saved(tmp_path)
    header, members = content_of(path)
    forge(path, header, members)
    assert same(load(path).state, small_state())  # so that what is refused below is refused for its reason
    forge(path, header | {"format_version": 2, "library_version": "9.9"}, members)
    refused(path, r"format version 2, .* up to 1\. Update everlearn: .* by everlearn 9\.9")
    forge(path, header | {"class": "Unheard"}, members)
    refused(path, "class 'Unheard' in it is unknown here. Import")
    forge(path, header | {"class": "Picky", "library_version": "0.0"}, members)
    refused(path, "does not fit the class Picky .* Load it with everlearn 0.0")
    changes = ({"magic": "other"}, {"format_version": 0}, {"format_version": "1"}, {"class": ["Toy"]})
    for other in (*(header | change for change in changes), [], {}, 3):
        forge(path, other, members)
        refused(path, "truncated or damaged")


def test_nodes_that_are_refused(tmp_path):
    path = saved(tmp_path)
    header, members = content_of(path)
    nodes = [{"array": "0"}, {"array": 0, "scalar": 0}, {"lambda": "0"}, {"dtype": "O,O"}, {"float": "00"}]
    nodes += [{"strings": [["a"], [2]]}, {"tuple": 3}, {"dict": []}, {"csr_matrix": [[0, 0, 0], [5, 5]]}]
    for node in nodes:
        forge(path, header | {"state": {"dict": {"a": node}}}, members)
        refused(path, "truncated or damaged")


def test_members_that_are_refused(tmp_path):
    path = saved(tmp_path)
    header, members = content_of(path)
    forge(path, header, {})
    refused(path, r"its member arrays/0\.npy is missing")
    forge(path, header, members, zipfile.ZIP_DEFLATED)
    refused(path, "is compressed")
    forge(path, json.dumps(header).replace('"scale"', "[" * 20_000 + "]" * 20_000), members)
    refused(path, "truncated or damaged")
    huge = io.BytesIO()
    np.lib.format.write_array_header_1_0(huge, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    for data in (huge.getvalue(), members["arrays/0.npy"] + b"\0", b"", b"\x93NUMPY\x03\x00"):
        forge(path, header, members | {"arrays/0.npy": data})
        refused(path, "truncated or damaged")


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_an_array_of_objects_in_the_file_is_refused_and_nothing_runs(tmp_path):
    path, sprung = saved(tmp_path), tmp_path / "sprung"
    header, members = content_of(path)
    data = io.BytesIO()
    np.lib.format.write_array(data, np.array([Trap(str(sprung))], dtype=object), allow_pickle=True)
    np.lib.format.read_array(io.BytesIO(data.getvalue()), allow_pickle=True)[0].close()
    assert sprung.exists()  # the trap works where pickle is allowed
    sprung.unlink()
    forge(path, header, members | {"arrays/0.npy": data.getvalue()})
    refused(path, r"its member arrays/0\.npy has the dtype object")
    assert not sprung.exists()


# Failures while saving.

CHILD = """
    import os, resource, sys
    import numpy as np
    from everlearn._persist import register, save

    @register
    class Toy:
        def __init__(self, state): self.state = state
        def _get_state(self): return self.state
        @classmethod
        def _from_state(cls, state): return cls(state)

    path = sys.argv[1]
"""


def child(body, path, **options):
    code = textwrap.dedent(CHILD) + textwrap.dedent(body)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen([sys.executable, "-c", code, path], env=environment, text=True, **options)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = saved(tmp_path)
    before = path.read_bytes()
    body = """
    for limit in (0, 10, 1_000, 8_192, 100_000, 160_200, 160_400):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            save(Toy({"C": 1.0, "rows": np.zeros(10_000), "more": np.zeros(10_000)}), path)
        except OSError as error:
            print(limit, error.errno, error.filename == path, os.listdir(os.path.dirname(path)))
    """
    process = child(body, path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = process.communicate(timeout=60)
    assert errors == ""
    lines = output.splitlines()
    assert len(lines) == 7
    assert all(line.endswith(f" True ['{path.name}']") for line in lines)
    assert path.read_bytes() == before


def test_a_saver_that_is_killed_leaves_a_whole_file(tmp_path):
    path = tmp_path / "model.everlearn"
    body = """
    for i in range(1_000_000):
        save(Toy({"i": i, "rows": np.full(200_000, i)}), path)
        if i == 0:
            print("go", flush=True)
    """
    chance = random.Random(0)
    for _ in range(6):
        process = child(body, path, stdout=subprocess.PIPE)
        with process:
            assert process.stdout.readline() == "go\n"
            time.sleep(chance.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        state = load(path).state
        assert np.all(state["rows"] == state["i"])
        assert len(os.listdir(tmp_path)) <= 2  # a dead saver's temporary file lasts until the next save
    save(Toy(small_state()), path)
    assert os.listdir(tmp_path) == [path.name]


def test_many_savers_of_one_file_do_not_disturb_each_other(tmp_path):
    path = saved(tmp_path, {"i": 0, "rows": np.zeros(1000)})

    def work(i):
        save(Toy({"i": i, "rows": np.full(1000, float(i))}), path)
        state = load(path).state
        assert np.all(state["rows"] == state["i"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(80)))
    assert os.listdir(tmp_path) == [path.name]


def test_a_folder_that_is_missing_or_a_file(tmp_path):
    for parent, error in ((tmp_path / "missing", FileNotFoundError), (saved(tmp_path), NotADirectoryError)):
        with pytest.raises(error) as caught:
            save(Toy({}), parent / "model")
        assert caught.value.filename == str(parent / "model")
    assert os.listdir(tmp_path) == ["model.everlearn"]


@pytest.mark.parametrize("function", ["os.fsync", "os.replace", "_seal", "np.lib.format.write_array"])
def test_any_failing_step_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, function):
    path = saved(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(f"everlearn._persist.{function}", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            save(Toy({"rows": np.zeros(3)}), path)
    assert os.listdir(tmp_path) == [path.name]
    assert same(load(path).state, small_state())


def test_permission_bits(tmp_path):
    previous = os.umask(0o027)
    try:
        path = saved(tmp_path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o604, 0o444, 0o666):
            path.chmod(mode)
            save(Toy({}), path)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(previous)


def test_a_link_is_followed_and_a_device_is_not_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("there", "model"))
    save(Toy({"a": 1}), link)
    assert link.is_symlink()
    assert load(tmp_path / "there" / "model").state == {"a": 1}
    os.mkfifo(tmp_path / "pipe")
    for act in (load, functools.partial(save, Toy({}))):
        with pytest.raises(OSError, match="Not a regular file"):
            act(tmp_path / "pipe")
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "there"]


def test_errors_are_also_the_ordinary_ones():
    for error, ordinary in ((CoreError, RuntimeError), (FileFormatError, ValueError)):
        assert issubclass(error, EverlearnError)
        assert issubclass(error, ordinary)
