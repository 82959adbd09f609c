"""Kill the consumer of a topic or a stream again and again: no row is lost, and none is doubled.

    .venv/bin/python tests/broker/kills.py                     100 kills with Redis, 100 with Kafka; minutes
    .venv/bin/python tests/broker/kills.py --kills 5           the form that the tests run
    .venv/bin/python tests/broker/kills.py --only redis --store postgres
    .venv/bin/python tests/broker/kills.py --store shards      three stores, by a key

`everlearn run` reads messages that a producer adds all the while, and is killed by SIGKILL at random moments,
right before and right after transactions.
Each message has a number, which is a feature of its row. At the end, the store must have every number once;
with Redis, in the order of the stream. No question is missing among those that were published, and no answer
was learned twice.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from broker.broker_helpers import Topic, rows
from everlearn.stream import NeverEndingLearner, ShardedLearner
from servers import running
from stream.postgres_server import new_database, server

PER_KILL = 400  # rows that may be added for each kill: a slow consumer must not fall behind without end
HERE = Path(__file__).resolve().parent
LEARNER = ("--learner", "LASVM", "--scaling", "none", "--label-rate", "0.02", "--random-state", "0")


class Worker:
    """A process that forks consumers."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, HERE / "kill_worker.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def begin(self, *words, moment=None):
        self._process.stdin.write(json.dumps([[str(word) for word in words], moment]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self):
        return int(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Producer(threading.Thread):
    """Adds rows and answers to rows that are asked about, until it is told to stop."""

    def __init__(self, topic, answers, seed):
        super().__init__(daemon=True)
        self.n, self._topic, self._answers, self._draw = 0, topic, answers, random.Random(seed)
        self.most = 2 * PER_KILL
        self._ended = threading.Event()

    def run(self):
        while not self._ended.is_set():
            if self.n >= self.most:
                time.sleep(0.01)
                continue
            count = self._draw.randint(1, 60)
            self._topic.add(*rows(count, first=self.n, labeled=self.n < 100))
            self.n += count
            self._answers.add({"id": self._draw.randrange(100), "label": 1, "by": f"someone {self.n}"})
            time.sleep(0.01)

    def finish(self):
        self._ended.set()
        self.join()


def torture(kind, kills, store, seed=0, out=print, sharded=False):
    """Kill a consumer many times; the figures. An AssertionError if a promise was broken."""
    draw = random.Random(seed)
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(running(kind))
        topic, asked, answers = (Topic(broker, name, partitions=3) for name in ("rows", "asked", "answers"))
        topic.add(*rows(100))
        answers.add({"id": 0, "label": 1, "by": "first"})
        producer = Producer(topic, answers, seed)
        producer.n = 100
        worker = stack.enter_context(contextlib.closing(Worker()))
        words = ["run", topic.url, "--store", store, "--batch-size", 40, "--infer-rows", 50, "--quiet"]
        if sharded:
            words += ["--shards", 3, "--shard-by", "n", *LEARNER]
        else:
            words += ["--questions-to", asked.url, "--answers-from", answers.url, *LEARNER]
        worker.begin(*words, "--idle", 0.2)  # the store and its schema
        assert worker.end() == 0
        producer.start()
        hits, started = 0, time.monotonic()
        while hits < kills:
            moment = draw.choice([None, ("before", draw.randint(2, 8)), ("after", draw.randint(2, 8))])
            pid = worker.begin(*words, moment=moment)
            if moment is None:
                time.sleep(draw.uniform(0.02, 0.5))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            status = worker.end()
            assert status in (0, -signal.SIGKILL), f"the consumer failed with {status}"
            hits += status == -signal.SIGKILL
            producer.most = (hits + 2) * PER_KILL
        producer.finish()
        # A busy broker may be silent for longer than it takes to end; what is lost stays lost.
        for _ in range(5):
            worker.begin(*words, "--idle", 2)
            assert worker.end() == 0
            if count(store, sharded) >= producer.n:
                break
        found = check_shards(store, producer.n) if sharded else check(store, producer.n, topic, asked)
    out(f"{kind}: {hits} kills, {found}, {time.monotonic() - started:.0f} s")
    return found


def count(store, sharded):
    """The number of rows stored."""
    if not sharded:
        with NeverEndingLearner.open(store, read_only=True) as learner:
            return learner.n_rows
    with ShardedLearner.open(store, read_only=True) as shards:
        return sum(learner.n_rows for learner in shards.learners.values())


def check(store, n, topic, asked):
    """Compare the store with what was published."""
    with NeverEndingLearner.open(store, read_only=True) as learner:
        numbers = [
            int(number)
            for start in range(0, learner.n_rows, 1000)
            for number in learner.rows_by_number(range(start, min(start + 1000, learner.n_rows)))[:, 0]
        ]
        given = [answer.by for answers in learner.answers(range(100)).values() for answer in answers]
        n_asked = learner.question_counts()["asked"]
        open_ids = {question.id for question in learner.open_questions()}
        batches = learner.sequence
    assert sorted(numbers) == list(range(n)), (
        f"{n} messages; {len(set(numbers))} of them in the store, {len(numbers) - len(set(numbers))} twice"
    )
    given = [by for by in given if by]
    assert len(given) == len(set(given)), "an answer was learned twice"
    if topic.server.kind == "redis":
        assert numbers == list(range(n)), "in another order"
        names = [question["id"] for question in asked.values()]
        assert open_ids <= set(names), "a question was not published"
        again = len(names) - len(set(names))
        return f"{n:,} rows once each in {batches} events, {n_asked} questions ({again} published again)"
    return f"{n:,} rows once each in {batches} events, {len(given)} answers"


def check_shards(folder, n):
    """Compare several stores with what was published."""
    with ShardedLearner.open(folder, read_only=True) as sharded:
        numbers = {
            shard: learner.rows_by_number(range(learner.n_rows))[:, 0].astype(int).tolist()
            for shard, learner in sharded.learners.items()
        }
        wrong = [
            shard for shard, found in numbers.items() if set(sharded.shard_of(found).tolist()) != {shard}
        ]
    assert not wrong, f"rows in the wrong shard {wrong}"
    stored = sorted(number for found in numbers.values() for number in found)
    assert stored == list(range(n)), f"{n} messages; {len(set(stored))} in the stores, {len(stored)} rows"
    return f"{n:,} rows once each in {len(numbers)} shards"


@contextlib.contextmanager
def place(kind):
    """A new store: a file, a folder of shards, or a database of a PostgreSQL server."""
    with contextlib.ExitStack() as stack:
        if kind == "postgres":
            yield new_database(stack.enter_context(server()), "kills")
        else:
            yield str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "kills.everlearn")


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--only", choices=["redis", "kafka"])
    parser.add_argument("--store", choices=["file", "postgres", "shards"], default="file")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    for kind in [options.only] if options.only else ["redis", "kafka"]:
        with place(options.store) as store:
            torture(kind, options.kills, store, options.seed, sharded=options.store == "shards")


if __name__ == "__main__":
    main()
