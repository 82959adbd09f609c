"""SIGKILL in the middle of group commits: what was acknowledged is there, once, and the model is a replay."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from everlearn._base import persist
from everlearn.serve.service import LearningService
from everlearn.stream import NeverEndingLearner
from serve.service_helpers import rows, set_up

KILLS = 4
TESTS = Path(__file__).parents[1]


def run_and_kill(place, run, chance):
    """What a service acknowledged before it was killed, at a random moment after a few calls."""
    environment = os.environ | {"PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("killed_service.py"))]
    process = subprocess.Popen([*command, str(place), str(run)], stdout=subprocess.PIPE, env=environment)
    heard = []
    patience = chance.randint(3, 40)
    for line in process.stdout:
        heard.append(line.decode().split())
        if len(heard) > patience:
            break
    time.sleep(chance.uniform(0, 0.02))
    process.send_signal(signal.SIGKILL)
    # The last line may be cut off: it was not acknowledged.
    rest = process.stdout.read().decode()
    heard += [line.split() for line in rest.split("\n")[:-1]]
    process.stdout.close()
    process.wait()
    return [line for line in heard if line[0] != "open"]


def test_nothing_acknowledged_is_lost_or_doubled(tmp_path):
    place, chance = tmp_path / "store", random.Random(0)
    set_up(place, n=30).close()
    heard = []
    for run in range(KILLS):
        heard += run_and_kill(place, run, chance)
    assert {line[0] for line in heard} >= {"rows", "label"}
    with LearningService(place) as service:
        learner = service.learner
        ids = [row for line in heard if line[0] == "rows" for row in line[2:]]
        assert len(set(ids)) == len(ids)
        assert sorted(learner.with_rows(ids)) == sorted(ids)
        before = learner.n_rows
        for line in heard:
            if line[0] == "rows":  # a retry after a crash adds nothing
                first = int(line[2][1:])
                assert service.add_rows(rows(3, first=first), by="p", key=line[1]).replayed
        assert learner.n_rows == before
        last = {}
        for kind, _, row, by, label in (line for line in heard if line[0] != "rows"):
            last[row, by] = kind, label
        votes = learner.answers(sorted({row for row, _ in last}))
        in_log = {(row, answer.by): answer.label for row, found in votes.items() for answer in found}
        for pair, (kind, label) in last.items():
            if kind == "label":  # an undo may be durable without having been acknowledged
                assert in_log.get(pair) in (label, None)
        learned = sum(kind == "label" for kind, _ in last.values())
        lost = [pair for pair, (kind, _) in last.items() if kind == "label" and pair not in in_log]
        assert len(lost) <= 2 * KILLS  # at most one undo of each person was under way at each kill
        assert learned > len(lost)
        given = [(row, answer.by) for row, answer in learner.given_answers() if answer.kind == "label"]
        answered = [(line[2], line[3]) for line in heard if line[0] == "label"]
        assert all(given.count(pair) >= answered.count(pair) for pair in answered)
        bits = persist.pack(learner._state.state())
    with NeverEndingLearner.replay(place) as again:
        assert persist.pack(again._state.state()) == bits
