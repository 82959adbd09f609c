"""Rows per second from a broker into a never-ending learner on disk, and where the time goes.

    .venv/bin/python tests/broker/rate.py                        200,000 rows from Redis
    .venv/bin/python tests/broker/rate.py --kind kafka --rows 100000
    .venv/bin/python tests/broker/rate.py --profile               the functions that take most

The rows are on the broker before the clock starts. One in a hundred has a label. Times are of this process:
the processor's, which do not depend on what else the machine does, and the clock's.
"""

import argparse
import cProfile
import json
import pstats
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from broker.broker_helpers import Topic
from everlearn import LASVM
from everlearn.datasets import make_checkerboard
from everlearn.read import open_source
from everlearn.stream import NeverEndingLearner
from servers import running


def messages(rows, columns):
    """Rows of numbers; the label depends on the first two."""
    X, y = make_checkerboard(rows, random_state=0)
    noise = np.random.default_rng(0).standard_normal((rows, columns - 2)).round(3)
    rows = zip(X.round(4).tolist(), noise.tolist(), y.tolist(), strict=True)
    for at, (first, more, label) in enumerate(rows):
        row = {f"x{k}": value for k, value in enumerate(first + more)}
        yield row | {"label": str(label) if at % 100 == 0 or at < 200 else ""}


def fill(topic, kind, rows, columns):
    if kind == "redis":
        batch = topic.client.pipeline(transaction=False)
        for at, row in enumerate(messages(rows, columns)):
            batch.xadd(topic.name, {"json": json.dumps(row)})
            if at % 5000 == 4999:
                batch.execute()
        batch.execute()
        return
    found = list(messages(rows, columns))
    for start in range(0, rows, 5000):
        topic.add(*found[start : start + 5000])


def feed(url, store, batch_size, limit):
    with NeverEndingLearner.open(store, LASVM(C=10, gamma=2.0), random_state=0) as learner:
        source = open_source(url, label="label", idle=2.0, batch_size=batch_size)
        with source:
            learner.set_schema(source.schema.state())
            begun, cpu = time.perf_counter(), time.process_time()
            for batch in source:
                learner.step(batch.X, batch.y, notes=source.notes)
                if learner.n_rows >= limit:
                    break
            return learner.n_rows, time.perf_counter() - begun, time.process_time() - cpu


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=["redis", "kafka"], default="redis")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args(argv)
    with running(options.kind) as server, tempfile.TemporaryDirectory() as folder:
        topic = Topic(server, "rows", partitions=1)
        fill(topic, options.kind, options.rows, options.columns)
        profile = cProfile.Profile()
        if options.profile:
            profile.enable()
        rows, seconds, cpu = feed(topic.url, f"{folder}/rate.everlearn", options.batch_size, options.rows)
        profile.disable()
    print(f"{options.kind}: {rows:,} rows of {options.columns} columns, {rows / cpu:,.0f} per CPU second,")
    print(f"{rows / seconds:,.0f} per second by the clock")
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
