"""Servers for the page, each a process of its own as `everlearn serve` starts it, and people who open it."""

import contextlib
import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from serve.browser.gallery import picture

SCREENS = Path(__file__).parents[3] / "out" / "screens"
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"'&lt;b&gt;"
ARABIC = "مرحبا، هذه رسالة قصيرة عن الاجتماع غدا."
SPAM = ["free", "prize", "winner", "claim", "money", "urgent", "click", "bonus"]
HAM = ["meeting", "report", "lunch", "project", "agenda", "budget", "minutes", "draft"]
OTHER = ["today", "please", "about", "the", "new", "your", "our", "with", "for", "next"]
QUESTION = """old => {
  const q = document.querySelector("[data-question]");
  if (!q || q.dataset.question === old) return null;
  return [q.dataset.question, q.querySelector(".prose")?.textContent ?? ""];
}"""
UNTIL = """async arg => {
  const end = performance.now() + 20000;
  for (;;) {
    const found = (%s)(arg);
    if (found) return found;
    if (performance.now() > end) throw new Error("nothing came; " + document.body.innerText.slice(0, 2000));
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}"""


def mails(count, seed=0):
    """Rows of a table: mails that are spam or ham by their words, some long, hostile or in Arabic."""
    draw, slope = random.Random(seed), picture()
    for number in range(count):
        spam = number % 2 == 0
        words = draw.choices(SPAM if spam else HAM, k=3) + draw.choices(OTHER, k=6)
        draw.shuffle(words)
        text = " ".join(words).capitalize() + "."
        if number % 40 == 7:
            text += " " + " ".join(draw.choices(OTHER, k=300))
        elif number % 40 == 2:
            text = f"{HOSTILE} {text}"
        elif number % 40 == 5:
            text = f"{ARABIC} {text}"
        yield {
            "text": text,
            "amount": f"{draw.lognormvariate(3, 1):.2f}",
            "channel": draw.choice(["mail", "form", "phone"]),
            "picture": slope if number % 12 == 9 else "",
        }


def is_spam(text):
    """What a person would answer."""
    words = text.lower().replace(".", " ").split()
    return sum(word in SPAM for word in words) > sum(word in HAM for word in words)


def as_csv(rows):
    """Rows as a CSV file."""
    rows = list(rows)
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


class Server:
    """A service on a store; `kill` and `start` again keep its address."""

    def __init__(self, folder, *options):
        self.store, self.ready = folder / "store.everlearn", folder / "ready.json"
        self.options, self.port = options, 0
        self.start()

    def start(self):
        self.ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", "everlearn.cli", "serve", str(self.store), "--port", str(self.port)]
        env = dict(os.environ, EVERLEARN_TOKEN=getattr(self, "token", ""))
        if not env["EVERLEARN_TOKEN"]:
            del env["EVERLEARN_TOKEN"]
        self.log = open(self.ready.with_suffix(".log"), "ab")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*command, "--ready-file", str(self.ready), *self.options],
            env=env,
            stdout=self.log,
            stderr=self.log,
        )
        until = time.monotonic() + 60
        while not self.ready.exists():
            assert self.process.poll() is None, self.ready.with_suffix(".log").read_text()
            assert time.monotonic() < until, "the service does not start"
            time.sleep(0.05)
        found = json.loads(self.ready.read_text())
        self.url, self.token = found["url"].rstrip("/"), found["token"]
        self.port = int(self.url.rsplit(":", 1)[1].split("/")[0])

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(30)
        self.log.close()

    def call(self, method, path, body=None, media_type="application/json"):
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": media_type}
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def set_up(self, rows, classes=("spam", "ham"), name="Mail triage"):
        found = self.call("POST", "/v1/setup:inspect?name=mails.csv", as_csv(rows), "text/csv")
        kinds = {"text": "text", "picture": "ignore"}
        fields = [{"name": f["name"], "kind": kinds.get(f["name"], f["kind"])} for f in found["fields"]]
        body = {"upload": found["upload"], "fields": fields, "classes": list(classes), "name": name}
        return self.call("POST", "/v1/setup", body)

    def link(self, name="Ann", role="annotator"):
        return self.call("POST", "/v1/links", {"name": name, "role": role})["url"]

    def answers(self, by=None):
        """All answers that count, newest first."""
        entries = []
        while True:
            part = self.call("GET", f"/v1/history?limit=200&offset={len(entries)}")
            entries += part["entries"]
            if len(entries) >= part["total"] or not part["entries"]:
                return [entry for entry in entries if by in (None, entry["by"])]


@contextlib.contextmanager
def serving(folder, rows=None, *options):
    """A server, ended at the end."""
    server = Server(folder, *options)
    try:
        if rows is not None:
            server.set_up(rows)
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server with rows, for all tests: each comes as another person."""
    with serving(tmp_path_factory.mktemp("serve"), mails(700)) as started:
        yield started


@pytest.fixture
def fresh_server(tmp_path):
    """A server of one test, which may kill it."""
    with serving(tmp_path, mails(60)) as started:
        yield started


@pytest.fixture
def empty_server(tmp_path):
    """A server whose store is empty."""
    with serving(tmp_path) as started:
        yield started


class Person:
    """Somebody at the page, in a browser of their own; errors in its console fail the test."""

    def __init__(self, browser, server, name, role="annotator", **options):
        self.server, self.name = server, name
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.errors, self.known_keys = [], {}
        self.page = self.open(server.link(name, role))

    def open(self, address=None):
        page = self.context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._message)
        page.goto(address or f"{self.server.url}/")
        self.page = page
        return page

    def _message(self, message):
        # Pictures and requests may fail to load in some tests. What the policy refuses is always an error.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def until(self, condition, arg=None):
        """Wait for a JavaScript function to return something true, and return that.

        Playwright's own `wait_for_function` evaluates text, which the policy of the page refuses.
        """
        return self.page.evaluate(UNTIL % condition, arg)

    def question(self, not_id=None):
        """The question on screen, once it is another one: its id and its text."""
        return self.until(QUESTION, not_id)

    def answer(self, count, not_id=None):
        """Answer questions by keys, as one should; the ids and answers in order."""
        given = []
        for _ in range(count):
            not_id, text = self.question(not_id)
            label = "spam" if is_spam(text) else "ham"
            self.page.keyboard.press(self.keys()[label])
            given.append((not_id, label))
        return given

    def keys(self):
        """The key of each class, as its button shows it."""
        if not self.known_keys:
            buttons = self.page.query_selector_all("button.class")
            self.known_keys = {
                button.query_selector("span").text_content(): button.query_selector("kbd").text_content()
                for button in buttons
            }
        return self.known_keys

    def all_sent(self):
        """Wait until no answer waits to be sent."""
        self.until("() => document.documentElement.dataset.unsent === '0'")

    def shoot(self, name, **options):
        SCREENS.mkdir(parents=True, exist_ok=True)
        self.page.wait_for_timeout(150)
        self.page.screenshot(path=SCREENS / f"{name}.png", **options)


@pytest.fixture
def person(browser, request):
    """Makes persons: ``person(server, name, role, ...)``."""
    made = []

    def make(server, name=None, role="annotator", **options):
        made.append(Person(browser, server, name or request.node.name[5:45], role, **options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()
    errors = [error for one in made for error in one.errors]
    assert not errors, errors
