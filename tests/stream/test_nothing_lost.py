"""Kills at random moments: what was acknowledged is there, once, and the end is as without them."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from everlearn.store.events import Arrived, Labeled, Scaled, Withdrawn, encode
from everlearn.store.log import Log
from property_helpers import sample_of
from stream.killed_worker import KINDS

KILLS = {kind: sample_of(25) for kind in KINDS}
KIND = {Arrived: "rows", Labeled: "labels", Withdrawn: "withdrawn"}


@pytest.fixture(scope="module")
def server():
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(Path(__file__).with_name("killed_worker.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    yield process
    process.stdin.close()
    process.stdout.close()
    process.wait()


def lines(server):
    while True:
        line = server.stdout.readline()
        assert line, "the server of workers has died"
        assert not line.startswith("failed"), line
        if line == "gone\n":
            return
        yield line.split()


def send(server, place, kind):
    server.stdin.write(f"{place} {kind}\n")
    server.stdin.flush()
    answers = lines(server)
    return int(next(answers)[1]), answers


def undisturbed(server, place, kind):
    """The digests at the end of a run that nobody kills, when it stood and when it was opened again."""
    return {what: rest[0] for what, *rest in send(server, place, kind)[1] if what in ("done", "reopened")}


def run_and_kill(server, place, kind, chance):
    """Let a worker be, for a random number of calls and a moment; what it acknowledged before it died."""
    worker, answers = send(server, place, kind)
    patience, moment = chance.choice([0, 1, 1, 2, 3, 5]), chance.uniform(0, 0.02)
    heard = []
    for line in answers:
        heard.append(line)
        if len(heard) > patience:
            break
    if heard and heard[-1][0] == "reopened":
        return [*heard, *answers]
    if patience == 0 and chance.random() < 0.5:
        moment = 0.0
    time.sleep(moment)
    os.kill(worker, signal.SIGKILL)
    return [*heard, *answers]


def in_the_log(place):
    """Every event, to the bit; rows, labels and withdrawals once more in the words of an acknowledgement."""
    log = Log(place, read_only=True)
    try:
        events = [event for _, event in log.read()]
        said = [
            (KIND[type(event)], *log.ids_of(event.numbers)) for event in events if type(event) is not Scaled
        ]
    finally:
        log.close()
    return [encode(event) for event in events], said


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_acknowledged_is_lost_and_nothing_comes_twice(server, tmp_path, kind):
    expected = undisturbed(server, tmp_path / "calm", kind)
    assert expected["done"] == expected["reopened"]
    events, story = in_the_log(tmp_path / "calm")
    assert {what for what, *_ in story} == {"rows", "labels", "withdrawn"}
    chance = random.Random(kind)
    killed = stores = 0
    while killed < KILLS[kind]:
        place, acknowledged, ended = tmp_path / f"store-{stores}", [], False
        stores += 1
        while not ended:
            mercy = killed >= KILLS[kind]
            heard = list(send(server, place, kind)[1]) if mercy else run_and_kill(server, place, kind, chance)
            ended = bool(heard) and heard[-1][0] == "reopened"
            killed += not ended
            acknowledged += [tuple(line) for line in heard if line[0] in KIND.values()]
            if acknowledged:
                kept, said = in_the_log(place)
                assert kept == events[: len(kept)]  # in order, to the bit, each once
                position = -1
                for line in acknowledged:
                    position = said.index(line, position + 1)  # ValueError: acknowledged, and lost
            assert [line[1] for line in heard if line[0] in expected] == [
                expected[line[0]] for line in heard if line[0] in expected
            ]
        assert kept == events
    assert killed >= KILLS[kind]
