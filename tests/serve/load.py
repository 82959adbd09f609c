"""Load on a service, on this machine only: people who answer, and a program that sends rows.

    python tests/serve/load.py --annotators 200 --rows 2000 --seconds 60

Starts `everlearn serve` on a new store, prints the times of the requests, and compares the log with what was
acknowledged: nothing is lost, nothing is counted twice, no row is asked twice.
"""

import argparse
import asyncio
import collections
import json
import random
import resource
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np

from everlearn.stream import NeverEndingLearner

sys.path.insert(0, str(Path(__file__).parents[1]))
from serve.server_process import ServerProcess

CLASSES = ["low", "high"]
BLOCK = 100  # rows in a request


@dataclass
class Outcome:
    """What was sent and acknowledged."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    rows: set[str] = field(default_factory=set)
    answers: dict[str, list[str]] = field(default_factory=lambda: collections.defaultdict(list))
    leased: dict[str, list[str]] = field(default_factory=lambda: collections.defaultdict(list))
    refused: collections.Counter = field(default_factory=collections.Counter)
    empty: collections.Counter = field(default_factory=collections.Counter)


def row(number: int, generator: random.Random) -> dict:
    values = [generator.gauss(0.0, 1.0) for _ in range(8)]
    return {"id": f"r{number}", "fields": {f"x{place}": value for place, value in enumerate(values)}}


def truth(fields: dict) -> str:
    return CLASSES[fields["x0"] + 0.5 * fields["x1"] > 0]


def set_up(process: ServerProcess, generator: random.Random) -> None:
    """A learner of 500 rows, 20 of them with labels."""
    lines = "".join(json.dumps(row(-n - 1, generator)["fields"]) + "\n" for n in range(500))
    admin = process.client()
    kind = {"Content-Type": "application/x-ndjson"}
    seen = (
        admin.post("/v1/setup:inspect?name=rows.jsonl", content=lines, headers=kind).raise_for_status().json()
    )
    fields = [{"name": one["name"], "kind": one["kind"]} for one in seen["fields"]]
    given = {"upload": seen["upload"], "fields": fields, "label_column": None, "classes": CLASSES}
    admin.post("/v1/setup", json=given).raise_for_status()
    first = [row(-1000 - n, generator) for n in range(20)]
    labeled = [{**one, "label": truth(one["fields"])} for one in first]
    admin.post("/v1/rows", json={"rows": labeled}).raise_for_status()


async def timed(outcome: Outcome, name: str, request) -> httpx.Response:
    begin = time.perf_counter()
    response = await request
    outcome.seconds[name].append(time.perf_counter() - begin)
    if response.status_code >= 400:
        outcome.refused[name, response.status_code] += 1
    return response


async def annotator(client, name, headers, outcome, end, generator, pause) -> None:
    """Leases questions ahead, and answers them one by one."""
    await asyncio.sleep(generator.uniform(0.0, pause))
    while time.monotonic() < end:
        response = await timed(
            outcome, "questions", client.get("/v1/questions", params={"n": 3}, headers=headers)
        )
        if response.status_code != 200:
            await asyncio.sleep(pause)
            continue
        found = response.json()
        if found["empty"]:
            outcome.empty[found["empty"]["reason"]] += 1
            await asyncio.sleep(pause)
        for question in found["questions"]:
            outcome.leased[str(question["id"])].append(name)
            await asyncio.sleep(generator.uniform(0.5, 1.5) * pause)
            fields = {one["name"]: one["value"] for one in question["fields"]}
            answer = {
                "id": question["id"],
                "kind": "label",
                "label": truth(fields),
                "key": uuid.uuid4().hex,
                "lease": {key: question["lease"][key] for key in ("id", "token")},
            }
            for _ in range(20):  # until it is acknowledged, under the same key
                response = await timed(
                    outcome, "labels", client.post("/v1/labels", json={"answers": [answer]}, headers=headers)
                )
                if response.status_code == 200:
                    outcome.answers[str(question["id"])].append(name)
                    break
                await asyncio.sleep(float(response.headers.get("Retry-After", 1)))


async def producer(client, headers, outcome, end, generator, rate) -> None:
    """Sends blocks of rows at a rate; late blocks are not made up for."""
    number, begin, sent = 0, time.monotonic(), 0
    while time.monotonic() < end:
        rows = [row(number + place, generator) for place in range(BLOCK)]
        number += BLOCK
        key = {"Idempotency-Key": uuid.uuid4().hex}
        response = await timed(
            outcome, "rows", client.post("/v1/rows", json={"rows": rows}, headers={**headers, **key})
        )
        if response.status_code == 200:
            outcome.rows.update(one["id"] for one in rows)
        sent += BLOCK
        await asyncio.sleep(max(0.0, begin + sent / rate - time.monotonic()))


async def predictor(client, headers, outcome, end, generator) -> None:
    while time.monotonic() < end:
        rows = [{"fields": row(0, generator)["fields"]} for _ in range(10)]
        await timed(outcome, "predict", client.post("/v1/predict", json={"rows": rows}, headers=headers))
        await asyncio.sleep(0.1)


async def load(process: ServerProcess, annotators: int, rate: float, seconds: float, pause: float) -> Outcome:
    """Everybody at once."""
    outcome = Outcome()
    tokens = {}
    with process.client() as admin:
        for place in range(annotators):
            given = {"name": f"a{place}", "role": "annotator"}
            tokens[given["name"]] = admin.post("/v1/tokens", json=given).raise_for_status().json()["token"]
    bounds = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=process.url, timeout=120, limits=bounds) as client:
        end = time.monotonic() + seconds
        admin_headers = {"Authorization": f"Bearer {process.token}"}
        people = [
            annotator(
                client, name, {"Authorization": f"Bearer {token}"}, outcome, end, random.Random(name), pause
            )
            for name, token in tokens.items()
        ]
        programs = [predictor(client, admin_headers, outcome, end, random.Random("p"))]
        if rate:
            programs.append(producer(client, admin_headers, outcome, end, random.Random("r"), rate))
        await asyncio.gather(*people, *programs)
    return outcome


def differences(store: Path, outcome: Outcome) -> list[str]:
    """What the log and the acknowledgments do not agree about; the service has stopped."""
    found = []
    with NeverEndingLearner.open(store, read_only=True) as learner:
        missing = outcome.rows - set(map(str, learner.known_ids(sorted(outcome.rows))))
        if missing:
            found.append(f"{len(missing)} acknowledged rows are not in the log")
        answered = sorted(outcome.answers)
        ids = learner.find_ids(answered) if answered else []
        known = learner.answers(ids)
        for name, id in zip(answered, ids, strict=True):
            stored = sorted(answer.by for answer in known[id])
            if stored != sorted(outcome.answers[name]):
                found.append(f"row {name}: answers of {stored}, acknowledged {sorted(outcome.answers[name])}")
    twice = [name for name, people in outcome.leased.items() if len(people) > 1]
    if twice:
        found.append(f"{len(twice)} rows were asked twice, for example {twice[0]}")
    return found


def table(outcome: Outcome, seconds: float) -> str:
    lines = [f"{'request':<10} {'count':>8} {'per s':>8} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8}"]
    for name, times in sorted(outcome.seconds.items()):
        half, most = np.percentile(times, [50, 99]) * 1e3
        lines.append(
            f"{name:<10} {len(times):>8,} {len(times) / seconds:>8.1f} {half:>8.1f} {most:>8.1f} "
            f"{max(times) * 1e3:>8.1f}"
        )
    answers = sum(map(len, outcome.answers.values()))
    lines.append(f"{len(outcome.rows):,} rows and {answers:,} answers were acknowledged.")
    if outcome.refused:
        lines.append(f"Refused: {dict(outcome.refused)}")
    if outcome.empty:
        lines.append(f"No question: {dict(outcome.empty)}")
    return "\n".join(lines)


def measure(folder: Path, annotators: int, rate: float, seconds: float, pause: float) -> tuple[Outcome, list]:
    """Run the load; returns what happened, and what is wrong."""
    store = folder / "load.everlearn"
    with ServerProcess(store) as process:
        set_up(process, random.Random(0))
        before = process.memory()
        outcome = asyncio.run(load(process, annotators, rate, seconds, pause))
        after = process.memory()
        print(table(outcome, seconds))
        print(f"Memory of the service: {before / 2**20:.0f} MiB before, {after / 2**20:.0f} MiB after.")
        with process.client() as admin:
            status = admin.get("/v1/status").json()
        print(f"Status: {status['rows']:,} rows, {status['labels']:,} labels.")
    return outcome, differences(store, outcome)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--rows", type=float, default=2000.0, help="rows a second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds that a person takes for an answer")
    arguments = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))
    with tempfile.TemporaryDirectory() as folder:
        _, wrong = measure(
            Path(folder), arguments.annotators, arguments.rows, arguments.seconds, arguments.pause
        )
    print("\n".join(wrong) or "The log agrees with what was acknowledged.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
