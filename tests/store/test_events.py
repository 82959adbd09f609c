"""Events: every kind is packed and unpacked as it was, and rows keep their numbers."""

from dataclasses import fields
from typing import get_args

import numpy as np
import pytest
from scipy import sparse

from everlearn.errors import FileFormatError
from everlearn.store.events import (
    Answered,
    Arrived,
    Asked,
    Described,
    Erased,
    Event,
    Expired,
    Labeled,
    Scaled,
    Withdrawn,
    as_labels,
    content_of,
    decode,
    encode,
)

NUMBERS = np.array([3, 5])
EVENTS = [
    Arrived(3, np.arange(6.0).reshape(3, 2), np.array([1]), as_labels(["a"]), 1.5),
    Arrived(3, sparse.csr_matrix(np.eye(3)), np.array([0, 2]), np.array([1, 0]), 1.5, np.array([0, 4])),
    Labeled(NUMBERS, as_labels(["a", "b\0"]), "me", 2.0),
    Labeled(NUMBERS, as_labels([1, 0]), "", 2.0, decided=True),
    Answered(NUMBERS, as_labels(["a", "b\0"]), "me", 2.0, weight=0.5),
    Answered(NUMBERS, np.zeros(0, dtype=np.int64), "me", 2.0, retracted=True),
    Withdrawn(NUMBERS, "me", 2.0),
    Asked(7, 2.0),
    Scaled(np.array([1.0, 2.0]), np.array([0.5, 1.0]), 2.0),
    Described({"fields": [{"name": "x", "kind": "numeric"}]}, 2.0),
    Erased(NUMBERS, "me", 2.0),
    Expired(np.array([0, 6]), np.array([3, 8]), 2, 2.0),
]


def same(a, b):
    if sparse.issparse(a) or sparse.issparse(b):
        return sparse.issparse(a) and sparse.issparse(b) and (a != b).nnz == 0 and a.dtype == b.dtype
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


def test_every_kind_is_among_the_examples():
    assert {type(event) for event in EVENTS} == set(get_args(Event))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_unpacked_as_it_was(event):
    found = decode(*encode(event))
    assert type(found) is type(event)
    for field in fields(event):
        assert same(getattr(found, field.name), getattr(event, field.name)), field.name


def test_a_trimmed_batch_is_read_as_a_batch():
    assert isinstance(decode("trimmed", content_of(EVENTS[0])), Arrived)


def test_an_event_that_cannot_be_read_is_an_error():
    kind, content = encode(EVENTS[2])
    with pytest.raises(FileFormatError):
        decode(kind, content[:-1])
    with pytest.raises(KeyError):
        decode("invented", content)
    with pytest.raises(TypeError):
        decode("asked", content)  # another kind has other fields


def test_erased_rows_count_and_the_others_keep_their_numbers():
    whole, cut = EVENTS[0], EVENTS[1]
    assert (whole.count, whole.numbers.tolist()) == (3, [3, 4, 5])
    assert (cut.count, cut.numbers.tolist()) == (5, [4, 5, 6])  # 3 and 7 are gone


def test_expired_rows_are_ranges():
    assert EVENTS[-1].numbers.tolist() == [0, 1, 2, 6, 7]
    none = np.zeros(0, dtype=np.int64)
    assert Expired(none, none, 0, 0.0).numbers.tolist() == []


def test_labels_that_are_strings_are_kept_to_the_last_character():
    assert as_labels(["a\0", "b"]).tolist() == ["a\0", "b"]
    assert as_labels([1, 0]).dtype.kind == "i"
    assert as_labels([]).tolist() == []
