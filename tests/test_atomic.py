"""Outputs: which names are the same file, what may be written over, what is written straight through."""

import os
import sqlite3
import subprocess
import sys

import pytest

import everlearn
from everlearn import LASVM, _atomic
from everlearn.export import export_onnx
from everlearn.read import Schema
from everlearn.report import write_report
from everlearn.stream import NeverEndingLearner


def put(file):
    file.write(b"new")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(b"old")
    return tmp_path


def test_links_and_relative_names_are_seen_through(here):
    os.symlink("a", "symbolic")
    os.link("a", "hard")
    (here / "folder").mkdir()
    for name in ("a", "./a", "folder/../a", str(here / "a"), "symbolic", "hard"):
        assert _atomic.same_file("a", name), name
    (here / "b").write_bytes(b"old")
    assert not _atomic.same_file("a", "b")  # the same content, another file
    assert not _atomic.same_file("a", "A")  # where it is the same, it exists under both names


def test_files_that_are_not_there_yet_are_compared_by_name(here):
    os.symlink("new", "link")
    for name in ("new", "./new", "link", "NEW"):
        assert _atomic.same_file("new", name), name
    assert not _atomic.same_file("new", "a")
    assert not _atomic.same_file("new", "other")


def test_an_open_descriptor_is_a_file(here):
    with open("a", "rb") as file:
        assert _atomic.same_file(file.fileno(), "a")
        assert not _atomic.same_file(file.fileno(), "nothing")


def test_side_files_of_a_store(here):
    os.symlink("a", "link")
    names = [os.path.realpath(name) for name, _ in _atomic.files_of_store("link")]
    assert {str(here / f"a{end}") for end in ("", "-wal", "-shm", "-journal", "-lock")} <= set(names)
    for place in (None, ":memory:", "postgresql://host/name"):
        assert _atomic.files_of_store(place) == []


def test_what_fails_leaves_the_old_file(here):
    def fail(file):
        file.write(b"half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        _atomic.write("a", fail)
    assert os.listdir() == ["a"]
    assert (here / "a").read_bytes() == b"old"


def test_pipes_and_devices_are_written_to(here):
    _atomic.write(os.devnull, put)
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
    _atomic.write("pipe", put)
    assert reader.communicate(timeout=60)[0] == b"new"
    assert sorted(os.listdir()) == ["a", "pipe"]


def test_standard_output_by_name_goes_on_where_the_shell_is(here):
    code = f"""if True:
        import runpy
        write = runpy.run_path({_atomic.__file__!r})["write"]
        print("one")
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            write(name, lambda file: file.write(b"two"))
    """
    with open("a", "ab") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True, timeout=240)
    assert (here / "a").read_bytes() == b"oldone\ntwotwotwo"


def test_a_descriptor_that_is_not_open(here):
    with pytest.raises(OSError, match="Bad file descriptor"):
        _atomic.write("/dev/fd/987", put)


# ------------------------------------------------------------------------------ functions that know no inputs


@pytest.fixture
def store(here):
    """A store that is open, so that its write-ahead log is there."""
    learner = NeverEndingLearner.open(here / "store")
    learner.step([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    yield here / "store"
    learner.close()


def writers():
    clf = LASVM(random_state=0).fit([[0.0, 1.0], [1.0, 0.0], [0.2, 0.9]], [0, 1, 0])
    return {
        "save": lambda path: everlearn.save(clf, path),
        "export": lambda path: export_onnx(clf, path),
        "schema": lambda path: Schema.infer({"a": [1.0, 2.0]}).write(path),
        "report": lambda path: write_report({"title": "t"}, path),
    }


@pytest.mark.parametrize("name", sorted(writers()))
@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_a_store_is_never_overwritten(store, name, end):
    path = store.with_name(store.name + end)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="choose another file"):
        writers()[name](path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal", "-lock"])
def test_a_report_knows_its_store(here, end):
    (here / "store").write_bytes(b"")  # nothing in it tells what it is
    with pytest.raises(ValueError, match="of this report"):
        write_report({"title": "t", "store": str(here / "store")}, f"store{end}")
    assert (here / "store").read_bytes() == b""


def test_other_databases_are_left_alone_too(here):
    sqlite3.connect("other.db").execute("CREATE TABLE t (x)").connection.close()
    before = (here / "other.db").read_bytes()
    with pytest.raises(ValueError, match="SQLite database"):
        _atomic.write("other.db", put)
    assert (here / "other.db").read_bytes() == before
