"""A consumer that is killed again and again; `tests/broker/kills.py` does it a hundred times."""

import os

import pytest

from broker.kills import place, torture
from servers import NoBrokerError
from stream.postgres_server import programs

KILLS = 20 if os.environ.get("EVERLEARN_THOROUGH") else 3


@pytest.mark.parametrize(("kind", "store"), [("redis", "file"), ("kafka", "shards"), ("redis", "postgres")])
def test_nothing_is_lost_or_doubled(kind, store):
    if store == "postgres" and programs() is None:
        pytest.skip("no PostgreSQL server")
    with place(store) as location:
        try:
            torture(kind, KILLS, location, out=lambda line: None, sharded=store == "shards")
        except NoBrokerError as error:
            pytest.skip(f"no broker: {kind}: {error}")
