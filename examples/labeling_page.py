"""The labeling page: a service, and people who answer
===================================================

``everlearn serve`` puts a learner behind an address: programs send rows, people answer questions in a
browser. This example plays both parts. It starts the service on an empty store, sets it up from 300 messages
to a support team, and lets two simulated people answer its questions over HTTP, as the page does. A few
answers are wrong, and a fifth of the questions goes to both. ``make serve`` starts a service with you in
front of the page:

.. image:: /images/label.png
   :alt: A question on the page, with its answers on keys
   :width: 80%
"""

import json
import random
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from serve_demo import Service, message, set_up

ANSWERS = 60

# %%
# The service is a process of its own. It writes its address and an admin token into a file when it is ready.
folder = tempfile.TemporaryDirectory()
ready = Path(folder.name) / "ready.json"
command = [sys.executable, "-m", "everlearn.cli", "serve", str(Path(folder.name) / "messages.everlearn")]
command += ["--port", "0", "--ready-file", str(ready), "--overlap", "2:0.2"]
server = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
while not ready.exists():
    assert server.poll() is None, "the service has ended"
    time.sleep(0.05)
admin = Service(**json.loads(ready.read_text()))

# %%
# Rows as a file, without labels, and the names of the classes.
generator = random.Random(0)
drawn = [message(number, generator) for number in range(300)]
truth = {str(row["message"]): label for row, label in drawn}
set_up(admin, [row for row, _ in drawn])
held_out = [message(1000 + number, generator) for number in range(150)]

# %%
# Two people. Each has a token that may answer questions and nothing else.
people = {
    name: Service(admin.url, admin.call("/v1/tokens", {"name": name, "role": "annotator"})["token"])
    for name in ("Ada", "Bob")
}


def answer(name, wrong):
    """Lease a question, answer it, and return its text and the label."""
    (question,) = people[name].call("/v1/questions?n=1")["questions"]
    text = next(field["text"] for field in question["fields"] if field["name"] == "message")
    label = generator.choice(["billing", "technical", "delivery"]) if wrong else truth[text]
    lease = {key: question["lease"][key] for key in ("id", "token")}
    given = {"id": question["id"], "kind": "label", "label": label, "key": str(uuid.uuid4()), "lease": lease}
    people[name].call("/v1/labels", {"answers": [given]})
    return text, label


def accuracy():
    """Accuracy on messages that the service has never seen."""
    rows = [{"id": f"t{number}", "fields": row} for number, (row, _) in enumerate(held_out)]
    found = admin.call("/v1/predict", {"rows": rows})["predictions"]
    return np.mean([guess["label"] == label for guess, (_, label) in zip(found, held_out, strict=True)])


curve = []
for number in range(1, ANSWERS + 1):
    text, label = answer(("Ada", "Bob")[number % 2], wrong=number % 20 == 9)
    if number <= 3 or number % 20 == 0:
        print(f'{number:3}. "{text}" -> {label}')
    if number >= 10 and number % 5 == 0:
        curve.append((number, accuracy()))

# %%
# What the page shows under *Progress*, and the end.
status = admin.call("/v1/status")
print(f"{status['rows']} rows, {status['labels']} labels; accuracy on 150 others {curve[-1][1]:.1%}")
server.terminate()
server.wait(60)
folder.cleanup()

# %%
# The learning curve.
figure = Figure(figsize=(11, 5), layout="constrained")
panel = figure.subplots()
panel.plot(*zip(*curve, strict=True), color="#0b6e99", linewidth=2.4, marker="o")
panel.set(xlabel="answers", ylim=(0, 1.02))
panel.set_title("accuracy on 150 other messages", loc="left", fontsize=13)
panel.grid(axis="y", color="#e6e6e6")
panel.spines[["top", "right"]].set_visible(False)
path = Path("out/labeling_page.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=100)
print(f"Picture: {path}")
