"""Rows that nobody needs are dropped after a snapshot, if the store is told to, and nothing else is."""

import numpy as np
import pytest
import sqlalchemy as sa

from everlearn import IDSVM, LASVM, NeverEndingLearner
from everlearn.datasets import make_banana
from everlearn.errors import StoreError
from stream.stream_helpers import bits

X, y = make_banana(3000, random_state=0)
SETTINGS = {"label_rate": 0.05, "memory_rows": 100, "snapshot_every": 300, "random_state": 0}


def go_on(learner, start, stop, step=100):
    """Send rows and answer every second question; the others stay open."""
    found = []
    for first in range(start, stop, step):
        out = learner.step(X[first : first + step])
        asked = [question.id for question in out.questions][::2]
        learner.label(asked, [int(y[number]) for number in asked])
        found.append(out.predictions.tolist())
    return found


def positions(learner):
    with learner._log.database.engine.connect() as db:
        return dict(db.execute(sa.text("SELECT number, position FROM rows")).all())


@pytest.fixture(params=[LASVM(C=10), IDSVM(C=10)], ids=["LASVM", "IDSVM"])
def stores(request, tmp_path):
    """The same stream in a store that drops rows and in one that keeps all."""
    lean = NeverEndingLearner.open(tmp_path / "lean", request.param, retention="needed", **SETTINGS)
    full = NeverEndingLearner.open(tmp_path / "full", request.param, **SETTINGS)
    yield lean, full
    lean.close()
    full.close()


def test_what_is_dropped_makes_no_difference(stores):
    lean, full = stores
    assert go_on(lean, 0, 3000) == go_on(full, 0, 3000)
    assert bits(lean) == bits(full)
    kept = {number for number, position in positions(lean).items() if position >= 0}
    assert set(lean._state.needed().tolist()) <= kept
    assert len(kept) < 1500
    assert all(position >= 0 for position in positions(full).values())
    for number in sorted(kept)[::50]:
        np.testing.assert_array_equal(lean._log.rows_of(np.array([number]))[0], X[number])


def test_it_goes_on_after_reopening_even_from_the_snapshot_before(stores, tmp_path):
    lean, full = stores
    go_on(lean, 0, 2000)
    go_on(full, 0, 2000)
    lean._snapshots.wait()
    lean.close()
    db = sa.create_engine(f"sqlite:///{tmp_path / 'lean'}")
    with db.begin() as connection:  # the newest one is torn
        newest = connection.execute(sa.text("SELECT max(seq) FROM snapshots")).scalar()
        connection.execute(sa.text("UPDATE snapshots SET content = x'00' WHERE seq = :seq"), {"seq": newest})
    db.dispose()
    with pytest.warns(UserWarning, match="cannot be read"):
        again = NeverEndingLearner.open(tmp_path / "lean", snapshot_every=300)
    with again:
        assert bits(again) == bits(full)
        assert go_on(again, 2000, 2600) == go_on(full, 2000, 2600)
        assert bits(again) == bits(full)


def test_without_a_snapshot_that_can_be_read_it_says_so(stores, tmp_path):
    lean, _ = stores
    go_on(lean, 0, 2000)
    lean.close()
    db = sa.create_engine(f"sqlite:///{tmp_path / 'lean'}")
    with db.begin() as connection:
        connection.execute(sa.text("UPDATE snapshots SET content = x'00'"))
    db.dispose()
    with pytest.warns(UserWarning, match="cannot be read"), pytest.raises(StoreError, match="dropped rows"):
        NeverEndingLearner.open(tmp_path / "lean")


def test_what_cannot_be_done_any_more(stores):
    lean, full = stores
    go_on(lean, 0, 2500)
    go_on(full, 0, 2500)
    gone = min(set(range(2500)) - set(positions(lean)))
    before = bits(lean)
    with pytest.raises(StoreError, match=f"The row {gone} was dropped"):
        lean.label([gone], [1])
    assert bits(lean) == before
    with pytest.raises(StoreError, match="dropped rows"):
        NeverEndingLearner.replay(lean._log.database.name)
    labeled = int(lean._state.labeled.numbers[0])
    if isinstance(lean.learner_, IDSVM):
        return
    with pytest.raises(StoreError, match="only with a learner that forgets"):
        lean.withdraw([labeled])
    assert bits(lean) == before


def test_retention_is_checked(tmp_path):
    with pytest.raises(ValueError, match="retention must be"):
        NeverEndingLearner.open(tmp_path / "store", retention="some")


def test_the_index_does_not_grow_with_rows_that_are_gone(tmp_path):
    with NeverEndingLearner.open(tmp_path / "store", LASVM(C=10), retention="needed", **SETTINGS) as learner:
        go_on(learner, 0, 3000)
        index = positions(learner)
        assert len(index) < 1500
        gone = sorted(set(range(3000)) - set(index))
        assert len(gone) > 1000
        with pytest.raises(StoreError, match=f"The row {gone[0]}, .* was dropped"):
            learner.label(gone[:2], [0, 1])
        with pytest.raises(ValueError, match=f"Duplicate id {gone[5]}:"):
            learner.step(X[:2], ids=[10_000, gone[5]])
        assert learner.step(X[:1], ids=[3001]).ids == [3001]  # a number that no row has
        with pytest.raises(ValueError, match="No row with the id 3002"):
            learner.label([3002], [1])


def test_ids_of_the_caller_stay_known(tmp_path):
    with NeverEndingLearner.open(tmp_path / "store", LASVM(C=10), retention="needed", **SETTINGS) as learner:
        for start in range(0, 1500, 100):
            learner.step(X[start : start + 100], ids=range(start + 50_000, start + 50_100))
        assert len(positions(learner)) == 1500
        with pytest.raises(ValueError, match="Duplicate id 50003:"):
            learner.step(X[:1], ids=[50_003])
        assert learner.step(X[:1], ids=[7]).ids == [7]  # the row with this number came under another id
