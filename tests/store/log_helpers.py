"""A small log, written event by event without a learner."""

import numpy as np

from everlearn.store.events import Arrived, Labeled, Withdrawn
from everlearn.store.log import Log

ROWS = np.arange(24.0).reshape(12, 2)


def arrived(first, count, time, labeled=(), labels=()):
    labeled = np.array(labeled, dtype=np.int64)
    return Arrived(first, ROWS[first : first + count], labeled, np.array(labels, dtype=object), time)


def ids(first, count):
    return [f"row {number}" for number in range(first, first + count)]


def filled(place=":memory:"):
    """Events 1 to 6: rows 0 to 3 (0 labeled), 4 to 7, labels of 1 and 5, 1 withdrawn, 5 again, 8 to 11."""
    log = Log(place)
    with log.writing() as writing:
        writing.add(arrived(0, 4, 10.0, [0], ["a"]), ids(0, 4))
        writing.add(arrived(4, 4, 20.0), ids(4, 4))
        writing.add(Labeled(np.array([1, 5]), np.array(["b", "a"], dtype=object), "me", 21.0))
        writing.add(Withdrawn(np.array([1]), "me", 22.0))
        writing.add(Labeled(np.array([5]), np.array(["b"], dtype=object), "me", 23.0))
        writing.add(arrived(8, 4, 30.0, [0, 3], ["a", "b"]), ids(8, 4))
    return log
