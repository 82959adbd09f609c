"""The service beside the real Label Studio, both on this machine: ``make test-label-studio``.

Label Studio with its requirements is a gigabyte, so it has an environment of its own and is no part of
``make test``, which uses recorded payloads. This program walks one project through both, by Label Studio's
own interface, and checks what arrived: the backend is connected, predictions come, annotations are learned,
deleted ones are forgotten, and `everlearn reconcile` makes up for webhooks that were lost.
"""

import argparse
import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))
from serve.server_process import ServerProcess

CONFIG = """<View>
  <Text name="mail" value="$text"/>
  <Choices name="kind" toName="mail"><Choice value="spam"/><Choice value="ham"/></Choices>
</View>"""
TEXTS = ["win a free prize now, claim your money", "agenda of the meeting about the budget report"]
N_TASKS = 40


class Steps:
    """Prints what was checked; the first thing that is wrong ends the program."""

    def __init__(self):
        self.start = self.last = time.perf_counter()

    def check(self, what, right, found=""):
        now = time.perf_counter()
        print(f"{'ok ' if right else 'NOT'} {what:<70} {now - self.last:7.2f} s  {found}", flush=True)
        self.last = now
        if not right:
            raise SystemExit(f"Not so: {what} ({found})")


def wait_for(read, seconds=30.0):
    """What ``read`` returns, once it is true."""
    end = time.monotonic() + seconds
    while True:
        found = read()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@contextlib.contextmanager
def label_studio(program, folder):
    """Label Studio on a free port with an empty database; a client with an access token."""
    port, token = free_port(), secrets.token_hex(20)
    env = {
        **os.environ,
        "ML_BLOCK_LOCAL_IP": "false",  # the service is on a loopback address: for the backend
        "SSRF_PROTECTION_ENABLED": "false",  # and for webhooks
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    command = [program, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    command += ["--data-dir", str(folder), "--username", "ann@example.com", "--password", "password-1"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [*command, "--user-token", token], env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, headers={"Authorization": f"Token {token}"}, timeout=60) as client:

            def answers():
                if process.poll() is not None:
                    raise SystemExit((folder / "log").read_text()[-4000:])
                with contextlib.suppress(httpx.TransportError):
                    return client.get("/health").is_success
                return False

            if not wait_for(answers, 300):
                raise SystemExit("Label Studio does not start: " + (folder / "log").read_text()[-4000:])
            yield client, url, token
    finally:
        process.terminate()
        process.wait(30)


def choice(label):
    return [{"from_name": "kind", "to_name": "mail", "type": "choices", "value": {"choices": [label]}}]


def walk(service, studio, url, key, steps):
    """One project, from its creation to a reconciliation."""
    call = studio.request

    def ask(method, path, **options):
        response = call(method, path, **options)
        if not response.is_success:
            raise SystemExit(f"{method} {path}: {response.status_code} {response.text[:1000]}")
        return response.json() if response.content else None

    with service.client() as admin:
        rows = "text\n" + "".join(f'"{TEXTS[n % 2]} {n}"\n' for n in range(N_TASKS))
        found = (
            admin.post(
                "/v1/setup:inspect?name=mails.csv",
                content=rows.encode(),
                headers={"Content-Type": "text/csv"},
            )
            .raise_for_status()
            .json()
        )
        fields = [{"name": "text", "kind": "text"}]
        body = {"upload": found["upload"], "fields": fields, "classes": ["spam", "ham"]}
        admin.post("/v1/setup", json=body).raise_for_status()
        made = admin.post("/v1/tokens", json={"name": "label studio", "role": "producer"}).raise_for_status()
        token = made.json()["token"]

        project = ask("POST", "/api/projects/", json={"title": "Mail", "label_config": CONFIG})["id"]
        steps.check("a project is made", True, f"number {project}")
        backend = ask(
            "POST",
            "/api/ml/",
            json={
                "url": service.url,
                "project": project,
                "auth_method": "BASIC_AUTH",
                "basic_auth_user": "any",
                "basic_auth_pass": token,
            },
        )
        steps.check("the backend is connected (/health, /setup)", backend["state"] == "CO", backend["state"])

        tasks = [{"text": f"{TEXTS[n % 2]} {n}"} for n in range(N_TASKS)]
        ask("POST", f"/api/projects/{project}/import", json=tasks)
        listed = wait_for(
            lambda: ask("GET", f"/api/tasks/?project={project}&page_size=100").get("tasks") or None
        )
        steps.check("tasks are imported", len(listed) == N_TASKS, len(listed))
        ids = sorted(task["id"] for task in listed)

        def annotate(place, label):
            return ask("POST", f"/api/tasks/{ids[place]}/annotations/", json={"result": choice(label)})["id"]

        def labels():
            return {
                entry["id"]: entry["label"] for entry in admin.get("/v1/history?limit=200").json()["entries"]
            }

        # Label Studio makes the webhook itself, without the password of the backend.
        hooks = ask("GET", f"/api/webhooks/?project={project}")
        steps.check(
            "Label Studio has made the webhook", [h["url"] for h in hooks] == [f"{service.url}/webhook"]
        )
        annotate(0, "spam")
        time.sleep(1)
        steps.check("without its header, the webhook is refused", labels() == {}, labels())
        hook = f"/api/webhooks/{hooks[0]['id']}/"
        ask("PATCH", hook, json={"headers": {"Authorization": f"Bearer {token}"}})
        made = {place: annotate(place, "ham" if place % 2 else "spam") for place in range(1, 12)}
        row = lambda place: f"ls-{project}-{ids[place]}"  # noqa: E731
        wanted = {row(place): "ham" if place % 2 else "spam" for place in made}
        wait_for(lambda: labels() == wanted)
        steps.check(
            "annotations are learned (ANNOTATION_CREATED)", labels() == wanted, f"{len(labels())} labels"
        )

        ask("PATCH", f"/api/annotations/{made[11]}/", json={"result": choice("spam")})
        wait_for(lambda: labels().get(row(11)) == "spam")
        steps.check("a changed annotation is learned anew", labels().get(row(11)) == "spam")
        ask("PATCH", f"/api/annotations/{made[11]}/", json={"result": choice("ham")})
        wait_for(lambda: labels() == wanted)

        ask(
            "POST",
            f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}",
            json={"selectedItems": {"all": True, "excluded": []}},
        )
        found = ask("GET", f"/api/predictions/?project={project}")
        of = {p["task"]: p for p in found}
        right = [
            of[task]["result"][0]["value"]["choices"][0] == ("ham" if place % 2 else "spam")
            for place, task in enumerate(ids)
            if task in of and of[task]["result"]
        ]
        steps.check(
            "predictions arrive for all tasks", len(right) == N_TASKS, f"{sum(right)} of {len(right)} right"
        )
        scored = all(isinstance(p["score"], float) and 0 <= p["score"] <= 1 for p in found)
        steps.check(
            "with scores and a model version",
            scored and all(p["model_version"] for p in found),
            found[0]["model_version"],
        )

        before = admin.get("/v1/status").json()["model_version"]
        ask("DELETE", f"/api/annotations/{made.pop(1)}/")
        del wanted[row(1)]
        wait_for(lambda: labels() == wanted)
        steps.check("a deleted annotation is forgotten", labels() == wanted)
        steps.check("and the model has changed", admin.get("/v1/status").json()["model_version"] != before)
        ask(
            "POST",
            f"/api/dm/actions?id=delete_tasks_annotations&project={project}",
            json={"selectedItems": {"all": False, "included": [ids[2], ids[3]]}},
        )
        for place in (2, 3):
            del made[place], wanted[row(place)]
        wait_for(lambda: labels() == wanted)
        steps.check(
            "several at once, too (ANNOTATIONS_DELETED)", labels() == wanted, f"{len(labels())} labels"
        )

        ask("PATCH", hook, json={"is_active": False})
        annotate(12, "spam")
        ask("DELETE", f"/api/annotations/{made.pop(4)}/")
        del wanted[row(4)]
        wanted |= {row(12): "spam", row(0): "spam"}  # the first one was refused above
        time.sleep(1)
        command = [sys.executable, "-m", "everlearn.cli", "reconcile", service.url, "--label-studio", url]
        env = {**os.environ, "EVERLEARN_TOKEN": token, "LABEL_STUDIO_API_KEY": key}
        done = subprocess.run(
            [*command, "--project", str(project)], env=env, capture_output=True, text=True, check=False
        )
        steps.check("everlearn reconcile runs", done.returncode == 0, (done.stdout + done.stderr).strip())
        wait_for(lambda: labels() == wanted)
        steps.check("and makes up for what was missed", labels() == wanted, f"{len(labels())} labels")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--label-studio", required=True, help="the program label-studio")
    options = parser.parse_args()
    steps = Steps()
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder) / "store.everlearn") as service:
        steps.check("everlearn serve answers", True, service.url)
        home = Path(folder) / "label-studio"
        home.mkdir()
        with label_studio(options.label_studio, home) as (studio, url, key):
            version = studio.get("/api/version").json().get("release", "")
            steps.check("Label Studio answers", True, f"version {version}")
            walk(service, studio, url, key, steps)
    print(f"All of it worked, in {time.perf_counter() - steps.start:.0f} s.")


if __name__ == "__main__":
    main()
