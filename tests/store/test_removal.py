"""Removal: erased and expired rows are in no event, index or snapshot, and all others are as they were."""

import numpy as np
import pytest

from everlearn._base import persist
from everlearn.store.events import Arrived, Described, Erased, Expired, Labeled, Scaled, Withdrawn
from everlearn.store.log import VERSION
from everlearn.store.removal import Erasure, arrived_before, erase, expire, newest_and_oldest
from everlearn.store.retention import trim
from everlearn.store.rewriting import without_rows
from everlearn.store.tombstones import new_salt
from store.log_helpers import ROWS, filled, ids

STATE = persist.pack({"schema": None, "state": "after"})


def erased(log, numbers, change_schema=None, first_snapshot=1, **options):
    """Erase rows as a learner does: with all events that know them rewritten."""
    numbers = np.array(numbers)
    known = log.arrived_in(numbers) | log.marked_in(numbers)
    erasure = Erasure(
        event=Erased(numbers, "officer", 40.0),
        ids=log.ids_of(numbers),
        salt=new_salt(),
        changed={seq: without_rows(log.event(seq), numbers) for seq in sorted(known)},
        first_snapshot=first_snapshot,
        state=STATE,
        incomplete=False,
        change_schema=change_schema,
        **options,
    )
    return erase(log, erasure)


def labels_in(log):
    """All labels that any event has, with the row."""
    found = []
    for _, event in log.read():
        if isinstance(event, Arrived):
            found += zip(event.numbers[event.labeled].tolist(), event.labels.tolist(), strict=True)
        elif isinstance(event, Labeled):
            found += zip(event.numbers.tolist(), event.labels.tolist(), strict=True)
    return found


def test_erased_rows_are_in_no_event_and_others_are_as_they_were():
    log = filled()
    before = labels_in(log)
    erased(log, [1, 5, 8])
    rest = [number for number in range(12) if number not in (1, 5, 8)]
    np.testing.assert_array_equal(log.rows_of(np.array(rest)), ROWS[rest])
    assert log.ids_of(rest) == [f"row {number}" for number in rest]
    assert labels_in(log) == [(number, label) for number, label in before if number in rest]
    assert log.values_of(np.array([1, 5, 8])) is None
    assert log.marked_in(np.array([1, 5, 8])) == set()
    assert log.last == 7
    assert isinstance(log.event(7), Erased)


def test_erased_ids_stay_taken_and_are_named():
    log = filled()
    erased(log, [5])
    assert log.known(["row 5", "row 6", "row 99"]) == ["row 5", "row 6"]
    assert log.in_index(["row 5", "row 6"]) == ["row 6"]
    with pytest.raises(ValueError, match="The row with id 'row 5' was erased"):
        log.numbers_of(["row 4", "row 5"])
    assert len(log.tombstones()) == 1
    assert "row 5" not in str(log.tombstones())


def test_snapshots_with_the_rows_are_replaced_by_the_given_state():
    log = filled()
    for seq in (1, 3, 5):
        log.write_snapshot(seq, persist.pack({"schema": None, "at": seq}), keep=10)
    assert erased(log, [4], first_snapshot=3) == 2
    assert log.snapshot() == (7, {"schema": None, "state": "after"})
    assert log.snapshot(6) == (1, {"schema": None, "at": 1})
    assert log.meta("version") == VERSION


def test_names_leave_schemas_in_events_and_snapshots():
    log = filled()
    with log.writing() as writing:
        writing.add(Described({"names": ["Paris", "Atlantis"]}, 31.0))
    log.write_snapshot(7, persist.pack({"schema": {"names": ["Paris", "Atlantis"]}}), keep=10)

    def change(schema):
        return {"names": ["Paris"]} if schema and "Atlantis" in schema["names"] else None

    assert erased(log, [4], change_schema=change, first_snapshot=8) == 1
    assert log.event(7).schema == {"names": ["Paris"]}
    assert log.snapshot(7) == (7, {"schema": {"names": ["Paris"]}})


def test_a_row_of_a_trimmed_batch_can_be_erased():
    log = filled()
    trim(log, 5, np.array([1, 2, 3]))  # row 0 is dropped from the first batch
    erased(log, [2])
    np.testing.assert_array_equal(log.rows_of(np.array([1, 3])), ROWS[[1, 3]])
    assert log.positions_without(1, []) == [(1, 0), (3, 1)]


# ----------------------------------------------------------------------------------------------------- expiry


def test_rows_that_arrived_before_a_time_are_found_with_their_labels():
    log = filled()
    found, batches = arrived_before(log, 25.0, time=99.0)
    assert (found.numbers.tolist(), found.n_labels, found.time) == (list(range(8)), 2, 99.0)
    assert (found.starts.tolist(), found.stops.tolist(), batches) == ([0], [8], [1, 2])
    none, batches = arrived_before(log, 10.0, time=99.0)
    assert (none.numbers.tolist(), none.n_labels, batches) == ([], 0, [])


def test_the_times_of_batches():
    log = filled()
    assert newest_and_oldest(log) == (30.0, 10.0)
    expire(log, *arrived_before(log, 15.0, 40.0), STATE, None)
    assert newest_and_oldest(log) == (30.0, 20.0)


def test_expired_rows_leave_with_labels_ids_scales_and_snapshots():
    log = filled()
    with log.writing() as writing:
        writing.add(Scaled(np.zeros(2), np.ones(2), 31.0))
    log.write_snapshot(5, persist.pack({"schema": None, "at": 5}), keep=10)
    expire(log, *arrived_before(log, 15.0, 40.0), STATE, None)
    assert log.in_index(ids(0, 12)) == ids(4, 8)
    assert log.known(ids(0, 12)) == ids(4, 8)  # an expired id may come again
    np.testing.assert_array_equal(log.rows_of(np.arange(4, 12)), ROWS[4:])
    assert labels_in(log) == [(5, "a"), (5, "b"), (8, "a"), (11, "b")]
    assert not any(isinstance(event, Withdrawn | Scaled) for _, event in log.read())
    assert isinstance(log.event(log.last), Expired)
    assert log.snapshot() == (log.last, {"schema": None, "state": "after"})
    assert log.meta("complete_from") == log.last


def test_erased_rows_do_not_come_again_after_they_expired():
    log = filled()
    erased(log, [1])
    expire(log, *arrived_before(log, 15.0, 50.0), STATE, None)
    assert log.known(["row 1", "row 0"]) == ["row 1"]


def test_trimmed_batches_expire_too():
    log = filled()
    trim(log, 5, np.array([2]))
    expire(log, *arrived_before(log, 25.0, 40.0), STATE, None)
    assert log.batches() == [6]
