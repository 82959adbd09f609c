"""The cache of events: bounded in bytes, and forgotten when the log is rewritten."""

import numpy as np

from everlearn.store._event_cache import EventCache
from everlearn.store.events import Arrived, Labeled

NONE = np.zeros(0, dtype=np.int64)


def test_what_was_read_last_is_kept_up_to_a_size():
    read = []

    def batch(seq):
        read.append(seq)
        rows = np.zeros((seq, 100))  # 800 bytes a row
        return Arrived(0, rows, NONE, NONE, 0.0)

    cache = EventCache(batch, max_bytes=10_000)
    assert cache(2) is cache(2)
    cache(3)
    cache(4)  # 2,600 + 3,400 + 4,200 bytes: the first is dropped
    assert read == [2, 3, 4]
    cache(3)
    assert read == [2, 3, 4]
    cache(2)
    cache(50)  # larger than all: it is kept alone
    assert cache(50) is cache(50)
    assert read == [2, 3, 4, 2, 50]
    cache.clear()
    cache(50)
    assert read[-2:] == [50, 50]


def test_an_event_that_was_read_before_it_was_rewritten_is_not_kept():
    contents = iter(["old", "new"])

    def read(seq):
        label = next(contents)
        if label == "old":
            cache.clear()  # the log is rewritten while somebody reads it
        return Labeled(NONE, np.array([label], dtype=object), "", 0.0)

    cache = EventCache(read)
    assert cache(1).labels.tolist() == ["old"]
    assert cache(1).labels.tolist() == ["new"]
