"""A service from nothing: support messages arrive, and you answer questions about them in a browser.

Starts `everlearn serve` on a new store, sets it up from the first messages, and goes on to send messages as
another program would. Ctrl-C stops both. `--colleagues 2` adds simulated people who answer, too.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from pathlib import Path

CLASSES = {
    "billing": [
        "I was charged twice for {product}",
        "The invoice for {product} shows the wrong amount",
        "Please refund the last payment, {product} was cancelled",
        "My card was declined when I renewed {product}",
        "Why is there a fee of {amount} euros on my bill",
    ],
    "technical": [
        "{product} does not start since the update",
        "I get an error when I open {product}",
        "The {product} app crashes on my phone",
        "Login to {product} fails although the password is right",
        "{product} is very slow today and then disconnects",
    ],
    "delivery": [
        "My parcel with {product} has not arrived",
        "The tracking number for {product} does not work",
        "{product} was delivered to the wrong address",
        "The box was damaged and {product} is missing",
        "When will {product} be shipped",
    ],
}
PRODUCTS = ["the router", "the camera", "Cloud Backup", "the headset", "Family Plan", "the thermostat"]
OPENINGS = ["", "Hello, ", "Hi there. ", "Good morning, ", "Second attempt: ", "Dear team, "]
CLOSINGS = ["", " Please help.", " Thanks in advance.", " This is urgent!", " Order {order}.", " Any news?"]
FIRST_ROWS = 300


def message(number: int, generator: random.Random) -> tuple[dict[str, object], str]:
    """A message and its true class."""
    label = generator.choices(list(CLASSES), weights=[5, 3, 2])[0]
    amount = round(generator.lognormvariate(3.5 if label == "billing" else 2.5, 0.8), 2)
    text = generator.choice(OPENINGS) + generator.choice(CLASSES[label]) + generator.choice(CLOSINGS)
    words = {"product": generator.choice(PRODUCTS), "amount": amount, "order": f"#{10_000 + number}"}
    return {
        "message": text.format(**words),
        "amount": amount,
        "channel": generator.choice(["mail", "chat", "phone"]),
        "customer_years": round(generator.expovariate(0.4), 1),
    }, label


class Service:
    """The HTTP interface, as a program uses it."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token

    def call(self, path: str, value: object = None, kind: str = "application/json", **headers: str) -> dict:
        """The response to a GET or, with a value, to a POST."""
        body = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": kind, **headers}
        request = urllib.request.Request(self.url + path, body, given)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)


def set_up(service: Service, rows: list[dict[str, object]]) -> None:
    """Upload the first rows, and name the classes."""
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    seen = service.call("/v1/setup:inspect?name=messages.jsonl", lines, "application/x-ndjson")
    fields = [{"name": field["name"], "kind": field["kind"]} for field in seen["fields"]]
    given = {"upload": seen["upload"], "fields": fields, "label_column": None, "classes": list(CLASSES)}
    service.call("/v1/setup", {**given, "name": "Support messages"})


def colleague(service: Service, name: str, truth: dict[str, str], seed: int, stop: threading.Event) -> None:
    """A simulated person who answers every few seconds, and is wrong now and then."""
    generator = random.Random(seed)
    person = Service(service.url, service.call("/v1/tokens", {"name": name, "role": "annotator"})["token"])
    while not stop.wait(generator.uniform(1.0, 4.0)):
        for question in person.call("/v1/questions?n=1")["questions"]:
            text = next(field["text"] for field in question["fields"] if field["name"] == "message")
            label = truth[text] if generator.random() < 0.95 else generator.choice(list(CLASSES))
            answer = {"id": question["id"], "kind": "label", "label": label, "key": str(uuid.uuid4())}
            lease = {name: question["lease"][name] for name in ("id", "token")}
            person.call("/v1/labels", {"answers": [{**answer, "lease": lease}]})


def run(arguments: argparse.Namespace, folder: Path) -> None:
    generator = random.Random(arguments.seed)
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "everlearn.cli", "serve", str(folder / "messages.everlearn")]
    command += ["--port", str(arguments.port), "--ready-file", str(ready)]
    server = subprocess.Popen(command, start_new_session=True)  # Ctrl-C is for this program
    stop = threading.Event()
    try:
        while not ready.exists():
            if server.poll() is not None:
                raise SystemExit(server.returncode)
            time.sleep(0.05)
        service = Service(**json.loads(ready.read_text()))
        truth: dict[str, str] = {}
        rows = []
        for number in range(FIRST_ROWS):
            row, label = message(number, generator)
            truth[str(row["message"])] = label
            rows.append(row)
        set_up(service, rows)
        print(
            f"{FIRST_ROWS} messages are there, {arguments.rate:g} a second arrive. Ctrl-C stops.", flush=True
        )
        for place in range(arguments.colleagues):
            given = (service, f"Colleague {place + 1}", truth, place, stop)
            threading.Thread(target=colleague, args=given, daemon=True).start()
        end = time.monotonic() + (arguments.seconds or float("inf"))
        number = FIRST_ROWS
        while time.monotonic() < end and server.poll() is None:
            row, label = message(number, generator)
            truth[str(row["message"])] = label
            key = {"Idempotency-Key": str(uuid.uuid4())}
            service.call("/v1/rows", {"rows": [{"id": f"m{number}", "fields": row}]}, **key)
            number += 1
            time.sleep(1.0 / arguments.rate)
        status = service.call("/v1/status")
        print(f"{status['rows']} rows, {status['labels']} labels.")
    except KeyboardInterrupt:
        pass
    finally:
        stop.set()
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
            server.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one")
    parser.add_argument("--rate", type=float, default=2.0, help="messages a second")
    parser.add_argument("--seconds", type=float, default=0.0, help="0 for no end")
    parser.add_argument("--colleagues", type=int, default=0, help="simulated people who answer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the store is kept (default: deleted at the end)")
    arguments = parser.parse_args()
    if arguments.folder is not None:
        os.makedirs(arguments.folder, exist_ok=True)
        run(arguments, arguments.folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            run(arguments, Path(folder))


if __name__ == "__main__":
    main()
