"""Load on a service, on this machine only: people who answer, and a program that sends rows.

    python tests/serve/load.py --annotators 200 --rows 2000 --seconds 60

Starts `everlearn serve` on a new store and fills what it keeps in memory: the labeled rows of the learner,
the predictions of rows without a label. Then it prints the times of the requests and the memory, and compares
the log with what was acknowledged: nothing is lost, nothing is counted twice, no row is asked twice. It stops
by itself.
"""

import argparse
import asyncio
import collections
import contextlib
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

from everlearn._base import persist
from everlearn.stream import NeverEndingLearner

sys.path.insert(0, str(Path(__file__).parents[1]))
from serve.server_process import ServerProcess

CLASSES = ["low", "high"]
BLOCK = 100  # rows in a request
IN_FLIGHT = 8  # requests of the program that sends rows
FIELDS = 8
LABELED, UNLABELED = 5_000, 100_000  # rows that fill what the service keeps


@dataclass
class Outcome:
    """What was sent and acknowledged.

    Attributes
    ----------
    seconds : dict of str to list of float
        The times of requests that were answered, by kind.
    rows : set of str
        The ids of rows that were acknowledged.
    answers : dict of str to list of str
        For each row, who was told that the answer is durable.
    sent : set of (str, str)
        Rows and people of all answers that were sent.
    leased : dict of str to list of str
        For each row, to whom it was leased.
    refused, empty : Counter
        Requests that were refused, by kind and status; responses without a question, by reason.
    memory : list of (int, int, int)
        Once a second: the rows and the answers that were acknowledged, and the bytes that the service uses.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    rows: set[str] = field(default_factory=set)
    answers: dict[str, list[str]] = field(default_factory=lambda: collections.defaultdict(list))
    sent: set[tuple[str, str]] = field(default_factory=set)
    leased: dict[str, list[str]] = field(default_factory=lambda: collections.defaultdict(list))
    refused: collections.Counter = field(default_factory=collections.Counter)
    empty: collections.Counter = field(default_factory=collections.Counter)
    memory: list[tuple[int, int, int]] = field(default_factory=list)


def row(number: int, generator: random.Random) -> dict:
    values = [generator.gauss(0.0, 1.0) for _ in range(FIELDS)]
    return {"id": f"r{number}", "fields": {f"x{place}": value for place, value in enumerate(values)}}


def truth(fields: dict) -> str:
    return CLASSES[fields["x0"] + 0.5 * fields["x1"] > 0]


def answer_to(question: dict) -> dict:
    """A true answer, with a new key and the lease."""
    return {
        "id": question["id"],
        "kind": "label",
        "label": truth({one["name"]: one["value"] for one in question["fields"]}),
        "key": uuid.uuid4().hex,
        "lease": {key: question["lease"][key] for key in ("id", "token")},
    }


def set_up(process: ServerProcess, generator: random.Random) -> None:
    """A learner of 500 rows, and 20 more with labels."""
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


def fill(process: ServerProcess, generator: random.Random) -> None:
    """Rows until everything that is kept in memory is there."""
    with process.client() as admin:
        for first, n, labeled in ((0, LABELED, True), (LABELED, UNLABELED, False)):
            for start in range(first, first + n, 1000):
                rows = [row(-10_000 - start - k, generator) for k in range(1000)]
                if labeled:
                    rows = [{**one, "label": truth(one["fields"])} for one in rows]
                admin.post("/v1/rows", json={"rows": rows}).raise_for_status()


class Load:
    """Everybody who sends requests to a service.

    Parameters
    ----------
    process : ServerProcess
        The service. It may be stopped and started again meanwhile, on the same port.
    annotators : int
        The number of people.
    rate : float
        Rows a second.
    seconds : float
        When no new request is begun.
    pause : float
        Seconds that a person takes for an answer, on average.
    """

    def __init__(
        self, process: ServerProcess, annotators: int, rate: float, seconds: float, pause: float
    ) -> None:
        self.process, self.rate, self.seconds, self.pause = process, rate, seconds, pause
        self.outcome = Outcome()
        with process.client() as admin:
            self.people = {
                f"a{place}": _token(admin, f"a{place}", "annotator") for place in range(annotators)
            }
            self.program = _headers(_token(admin, "program", "producer"))

    async def run(self, *more) -> Outcome:
        """Send requests until the time is over; ``more`` are coroutines that run meanwhile."""
        self.end = time.monotonic() + self.seconds
        bounds = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(base_url=self.process.url, timeout=120, limits=bounds) as self.client:
            people = [self._annotator(name, _headers(token)) for name, token in self.people.items()]
            programs = [self._predictor(), self._watch_memory(), *([self._producer()] if self.rate else [])]
            await asyncio.gather(*people, *programs, *more)
        return self.outcome

    async def _send(self, name: str, method: str, path: str, **options) -> httpx.Response | None:
        """Send a request until it is answered, the same one each time; None if that takes too long."""
        for _ in range(200):
            begin = time.perf_counter()
            try:
                response = await self.client.request(method, path, **options)
            except httpx.TransportError:
                self.outcome.refused[name, "no connection"] += 1
                await asyncio.sleep(0.3)
                continue
            if response.status_code < 400:
                self.outcome.seconds[name].append(time.perf_counter() - begin)
                return response
            self.outcome.refused[name, response.status_code] += 1
            if response.status_code not in (429, 503):
                return None
            await asyncio.sleep(min(5.0, float(response.headers.get("Retry-After", 1))))
        return None

    async def _annotator(self, name: str, headers: dict) -> None:
        """Leases questions ahead, and answers them one by one."""
        generator = random.Random(name)
        await asyncio.sleep(generator.uniform(0.0, 3 * self.pause))
        while time.monotonic() < self.end:
            found = await self._send("questions", "GET", "/v1/questions", params={"n": 3}, headers=headers)
            if found is None or found.json()["empty"]:
                self.outcome.empty["refused" if found is None else found.json()["empty"]["reason"]] += 1
                await asyncio.sleep(self.pause)
                continue
            for question in found.json()["questions"]:
                id = str(question["id"])
                self.outcome.leased[id].append(name)
                await asyncio.sleep(generator.uniform(0.5, 1.5) * self.pause)
                self.outcome.sent.add((id, name))
                given = {"answers": [answer_to(question)]}
                if await self._send("labels", "POST", "/v1/labels", json=given, headers=headers):
                    self.outcome.answers[id].append(name)

    async def _producer(self) -> None:
        """Sends blocks of rows at a rate, up to some at a time; what is late is not made up for."""
        generator, number = random.Random("rows"), 0
        running: set[asyncio.Task] = set()
        while time.monotonic() < self.end:
            begin = time.monotonic()
            rows = [row(number + place, generator) for place in range(BLOCK)]
            number += BLOCK
            running.add(asyncio.create_task(self._add_rows(rows)))
            if len(running) >= IN_FLIGHT:
                _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(max(0.0, begin + BLOCK / self.rate - time.monotonic()))
        await asyncio.gather(*running)

    async def _add_rows(self, rows: list[dict]) -> None:
        headers = {**self.program, "Idempotency-Key": uuid.uuid4().hex}
        if await self._send("rows", "POST", "/v1/rows", json={"rows": rows}, headers=headers):
            self.outcome.rows.update(one["id"] for one in rows)

    async def _predictor(self) -> None:
        generator = random.Random("predict")
        while time.monotonic() < self.end:
            rows = [{"fields": row(0, generator)["fields"]} for _ in range(10)]
            await self._send("predict", "POST", "/v1/predict", json={"rows": rows}, headers=self.program)
            await asyncio.sleep(0.1)

    async def _watch_memory(self) -> None:
        while time.monotonic() < self.end:
            with contextlib.suppress(OSError, IndexError, ValueError):  # it was killed
                answers = sum(map(len, self.outcome.answers.values()))
                self.outcome.memory.append((len(self.outcome.rows), answers, self.process.memory()))
            await asyncio.sleep(1.0)


def _token(admin: httpx.Client, name: str, role: str) -> str:
    return admin.post("/v1/tokens", json={"name": name, "role": role}).raise_for_status().json()["token"]


def _headers(token: str) -> dict:
    return {"Authorization": f"Bearer {token}"}


def differences(store: Path, outcome: Outcome, *, leases_last: bool = True) -> list[str]:
    """What the log and the acknowledgments do not agree about; the service has stopped.

    A restart forgets leases: with ``leases_last=False`` a row may have been asked twice.
    """
    found = []
    with NeverEndingLearner.open(store, read_only=True) as learner:
        missing = outcome.rows - set(map(str, learner.with_rows(sorted(outcome.rows))))
        if missing:
            found.append(f"{len(missing)} acknowledged rows are not in the log")
        given = collections.Counter(
            (str(id), answer.by) for id, answer in learner.given_answers() if answer.kind == "label"
        )
        acknowledged = {(id, name) for id, names in outcome.answers.items() for name in names}
        times = collections.Counter((id, name) for id, names in outcome.answers.items() for name in names)
        if lost := acknowledged - set(given):
            found.append(f"{len(lost)} acknowledged answers are not in the log, such as {min(lost)}")
        if strange := set(given) - outcome.sent:
            found.append(f"{len(strange)} answers in the log were never sent, such as {min(strange)}")
        if doubled := [pair for pair in times if given[pair] > times[pair]]:
            found.append(f"{len(doubled)} answers are in the log more often than given, such as {doubled[0]}")
        ids = learner.find_ids(sorted(outcome.answers)) if outcome.answers else []
        unlearned = [id for id, label in learner.labels_of(ids).items() if label is None]
        if unlearned:
            found.append(f"{len(unlearned)} rows with acknowledged answers have no label")
    twice = [id for id, names in outcome.leased.items() if len(names) > 1]
    if twice and leases_last:
        found.append(f"{len(twice)} rows were asked twice, for example {twice[0]}")
    return found


def same_as_a_replay(store: Path) -> bool:
    """Whether the model that continues is bit for bit the one that a replay of the whole log gives."""
    with NeverEndingLearner.open(store, read_only=True) as learner:
        bits = persist.pack(learner._state.state())
    with NeverEndingLearner.replay(store) as again:
        return bits == persist.pack(again._state.state())


def table(outcome: Outcome, seconds: float, cpu: float | None = None) -> str:
    """The times of the requests, and what else happened."""
    lines = ["| request | count | per s | p50 ms | p99 ms | max ms |", "|---|--:|--:|--:|--:|--:|"]
    for name, times in sorted(outcome.seconds.items()):
        half, most = np.percentile(times, [50, 99]) * 1e3
        shown = name if name != "rows" else f"rows ({BLOCK} each)"
        lines.append(
            f"| {shown} | {len(times):,} | {len(times) / seconds:.1f} | {half:.0f} | {most:.0f} "
            f"| {max(times) * 1e3:.0f} |"
        )
    answers = sum(map(len, outcome.answers.values()))
    lines.append("")
    lines.append(
        f"Acknowledged: {len(outcome.rows):,} rows ({len(outcome.rows) / seconds:,.0f} a second), "
        f"{answers:,} answers ({answers / seconds:.1f} a second)."
    )
    if outcome.memory:
        parts = min(8, len(outcome.memory))
        lines += ["", "| rows | answers | memory MiB |", "|--:|--:|--:|"]
        for part in range(parts + 1):
            rows, given, used = outcome.memory[
                min(len(outcome.memory) * part // parts, len(outcome.memory) - 1)
            ]
            lines.append(f"| {rows:,} | {given:,} | {used / 2**20:.0f} |")
        lines.append("")
    if cpu is not None:
        lines.append(f"CPU of the service: {cpu:.1f} s of {seconds:.0f} s.")
    if outcome.refused:
        lines.append(f"Refused: {dict(outcome.refused)}")
    if outcome.empty:
        lines.append(f"No question: {dict(outcome.empty)}")
    return "\n".join(lines)


def measure(
    folder: Path, annotators: int, rate: float, seconds: float, pause: float, *, filled: bool = False
) -> tuple[Outcome, list]:
    """Run the load; returns what happened, and what is wrong."""
    store = folder / "load.everlearn"
    with ServerProcess(store) as process:
        set_up(process, random.Random(0))
        if filled:
            begin = process.memory()
            fill(process, random.Random(1))
            print(f"Memory, MiB: {begin / 2**20:.0f} at the start, {process.memory() / 2**20:.0f} filled.\n")
        load = Load(process, annotators, rate, seconds, pause)
        before = process.cpu()
        outcome = asyncio.run(load.run())
        print(table(outcome, seconds, process.cpu() - before), flush=True)
    return outcome, differences(store, outcome)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--rows", type=float, default=2000.0, help="rows a second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds that a person takes for an answer")
    parser.add_argument("--empty", action="store_true", help="begin with a new learner, not with a full one")
    arguments = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))
    with tempfile.TemporaryDirectory() as folder:
        _, wrong = measure(
            Path(folder),
            arguments.annotators,
            arguments.rows,
            arguments.seconds,
            arguments.pause,
            filled=not arguments.empty,
        )
        print("\n".join(wrong) or "The log agrees with what was acknowledged.", flush=True)
        same = same_as_a_replay(Path(folder) / "load.everlearn")
        print("The model is that of a replay, bit for bit." if same else "A REPLAY GIVES ANOTHER MODEL.")
    sys.exit(bool(wrong) or not same)


if __name__ == "__main__":
    main()
