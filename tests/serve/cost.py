"""What a request costs a service: CPU time of its process, one request after another, on this machine only.

    python tests/serve/cost.py

Starts `everlearn serve` on a new store with 6,000 rows. A request is sent when the one before is done, so
that nothing is shared between requests; `load.py` shows what becomes of it when many come at once.
"""

import argparse
import collections
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from serve.load import answer_to, row, set_up
from serve.server_process import ServerProcess


class Meter:
    """CPU seconds of a process, by kind of request."""

    def __init__(self, process: ServerProcess) -> None:
        self._stat = Path(f"/proc/{process.process.pid}/schedstat")
        self.seconds: dict[str, list[float]] = collections.defaultdict(list)

    def _now(self) -> float:
        threads = Path(self._stat.parent / "task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def send(self, name, request, *args, **options):
        """Send a request, and note what it cost."""
        before = self._now()
        response = request(*args, **options)
        self.seconds[name].append(self._now() - before)
        return response.raise_for_status().json()

    def send_together(self, name, requests):
        """Send requests at the same time, and note what each cost in the mean."""
        before = self._now()
        with ThreadPoolExecutor(len(requests)) as pool:
            for response in pool.map(lambda request: request(), requests):
                response.raise_for_status()
        self.seconds[name].append((self._now() - before) / len(requests))


def measure(folder: Path, rounds: int) -> Meter:
    """Blocks of rows, then people who take turns, and one answer in ten taken back."""
    generator = random.Random(0)
    with ServerProcess(folder / "cost.everlearn") as process:
        set_up(process, generator)
        admin = process.client()
        people = [process.person(f"a{place}") for place in range(10)]
        meter = Meter(process)
        for block in range(55):
            rows = [row(100 * block + place, generator) for place in range(100)]
            meter.send("rows (100)", admin.post, "/v1/rows", json={"rows": rows})
        for number in range(rounds):
            person = people[number % len(people)]
            found = meter.send("questions (3)", person.get, "/v1/questions", params={"n": 3})["questions"]
            for question in found:
                meter.send("label", person.post, "/v1/labels", json={"answers": [answer_to(question)]})
            meter.send("status", admin.get, "/v1/status")
            rows = [{"fields": row(0, generator)["fields"]} for _ in range(10)]
            meter.send("predict (10)", admin.post, "/v1/predict", json={"rows": rows})
            if number % 10 == 9 and found:
                meter.send("undo", person.delete, f"/v1/labels/{found[-1]['id']}")
        for _ in range(rounds // 5):
            found = [person.get("/v1/questions", params={"n": 1}).json()["questions"] for person in people]
            meter.send_together(
                "label, of 10 people",
                [
                    partial(person.post, "/v1/labels", json={"answers": [answer_to(questions[0])]})
                    for person, questions in zip(people, found, strict=True)
                    if questions
                ],
            )
        for client in (admin, *people):
            client.close()
    return meter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100, help="rounds of three questions")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        meter = measure(Path(folder), arguments.rounds)
    print(f"{'request':<20} {'count':>6} {'mean ms':>8} {'median':>8} {'most':>8}   CPU of the service")
    for name, seconds in meter.seconds.items():
        ordered = sorted(seconds)
        mean, half = sum(ordered) / len(ordered), ordered[len(ordered) // 2]
        print(f"{name:<20} {len(ordered):>6} {1e3 * mean:>8.2f} {1e3 * half:>8.2f} {1e3 * ordered[-1]:>8.2f}")


if __name__ == "__main__":
    main()
