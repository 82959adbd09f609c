"""A store of some batches, and SQL statements on its file."""

import sqlite3

from stream.stream_helpers import bits, opened, xor

X, Y = xor(200)


def made(place, **settings):
    """A store of some batches, closed; its state."""
    with opened(place, snapshot_every=30, **settings) as learner:
        for start in range(0, 200, 10):
            learner.step(X[start : start + 10], Y[start : start + 10], time=0.0)
        learner.withdraw([17])
        return bits(learner)


def execute(place, statement, *values):
    with sqlite3.connect(place) as db:
        found = db.execute(statement, values).fetchall()
    db.close()
    return found
