"""Streams in files, and the command line in this process."""

import json

import numpy as np
from typer.testing import CliRunner

from everlearn.cli import app
from everlearn.cli._source_spec import stored_schema


def payments(n, seed=0):
    """Rows of a small fraud stream: (number, amount, shop, hour, is_fraud)."""
    random = np.random.default_rng(seed)
    fraud = random.random(n) < 0.3
    amount = np.round(random.lognormal(3 + 1.5 * fraud, 0.6), 2)
    shops = np.array(["books", "food", "travel"])[random.integers(0, 3, n)]
    hour = np.round((14 - 8 * fraud + random.normal(0, 2, n)) % 24, 1)
    return list(
        zip(
            [f"p{i}" for i in range(n)],
            amount.tolist(),
            shops.tolist(),
            hour.tolist(),
            fraud.astype(int).tolist(),
            strict=True,
        )
    )


FIELDS = ("number", "amount", "shop", "hour", "is_fraud")


def as_csv(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in [FIELDS, *rows])


def write_csv(path, rows):
    path.write_text(as_csv(rows))
    return path


def everlearn(*arguments, code=0, **options):
    """Run a command, check its exit code, return what it printed on both streams."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def status_of(store, *without):
    """The status of a store, without what may differ between two that are the same."""
    found = json.loads(everlearn("status", store, "--json").stdout)
    for name in ("memory_mb", "store", *without):
        found.pop(name)
    return found


RUN = ("--batch-size", 100, "--infer-rows", 100, "--random-state", 0)


def learn(stream, store, *options, **more):
    """Run a stream with the labels in its file."""
    return everlearn(
        "run", stream, "--store", store, "--label", "is_fraud", "--id", "number", *RUN, *options, **more
    )


def ask_the_file(stream, store, *options, **more):
    """Run a stream whose label column answers the questions."""
    named = ("--oracle", "is_fraud", "--id", "number", "--label-rate", 0.1)
    return everlearn("run", stream, "--store", store, *named, *RUN, *options, **more)


def schema_of(learner):
    """The schema in the store of a learner."""
    return stored_schema(learner.status()["schema"])


def ran(*arguments):
    """What a command that succeeds prints."""
    return everlearn(*arguments).stdout


def failed(*arguments):
    """The error message of a command that fails, on one line."""
    return " ".join(everlearn(*arguments, code=1).stderr.split())
