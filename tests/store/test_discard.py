"""An empty store can be created again with other settings; one with rows, or made on purpose, cannot."""

import contextlib
import os

import pytest

from everlearn.errors import StoreError
from everlearn.store.discard import discard_if_untouched, remove_files
from everlearn.store.log import Log
from store.log_helpers import arrived, filled, ids


def empty(place, notes):
    with contextlib.closing(Log(place)) as log, log.writing() as writing:
        writing.set_notes(notes)


def test_an_empty_store_of_a_run_is_discarded(tmp_path):
    empty(tmp_path / "store", {"run": {"source": "a.csv"}})
    assert discard_if_untouched(tmp_path / "store", "run")
    with contextlib.closing(Log(tmp_path / "store")) as log:
        assert log.notes() == {}
        with log.writing() as writing:  # and can be used
            writing.add(arrived(0, 4, 10.0), ids(0, 4))
        assert log.n_rows == 4


def test_a_store_that_was_made_on_purpose_stays(tmp_path):
    empty(tmp_path / "store", {"other": 1})
    assert not discard_if_untouched(tmp_path / "store", "run")
    with contextlib.closing(Log(tmp_path / "store")) as log:
        assert log.notes() == {"other": 1}


def test_a_store_with_rows_stays(tmp_path):
    with contextlib.closing(filled(tmp_path / "store")) as log, log.writing() as writing:
        writing.set_notes({"run": 1})
    assert not discard_if_untouched(tmp_path / "store", "run")
    with contextlib.closing(Log(tmp_path / "store")) as log:
        assert log.n_rows == 12
        assert len(list(log.read())) == 6


def test_where_there_is_no_store_nothing_is_made(tmp_path):
    assert not discard_if_untouched(tmp_path / "none", "run")
    assert os.listdir(tmp_path) == []
    (tmp_path / "text").write_text("not a store")
    with pytest.raises(StoreError):
        discard_if_untouched(tmp_path / "text", "run")
    assert (tmp_path / "text").read_text() == "not a store"


def test_files_are_removed_with_those_beside_them_and_no_others(tmp_path):
    filled(tmp_path / "store").close()
    (tmp_path / "store-wal").write_bytes(b"")
    (tmp_path / "store-other").write_text("mine")
    assert remove_files(tmp_path / "store")
    assert os.listdir(tmp_path) == ["store-other"]
    assert not remove_files(tmp_path / "store")
    assert not remove_files("postgresql://host/db")
    assert not remove_files(tmp_path)
