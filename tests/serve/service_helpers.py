"""What the tests of the service share: a project that is set up, rows, a clock that the test turns."""

import numpy as np
import pytest

from everlearn._base import persist
from everlearn.errors import InputError
from everlearn.serve.service import AnswerIn, LearningService, RowIn
from everlearn.stream import NeverEndingLearner

CLASSES = ["no", "yes"]


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def table(n=60, seed=0, labels=False):
    """A CSV file of points in the plane, with an id and a color; the label is their quadrant's."""
    random = np.random.default_rng(seed)
    lines = ["id,x,z,color" + (",label" if labels else "")]
    for number, (x, z) in enumerate(random.uniform(-1, 1, size=(n, 2)).round(4)):
        line = f"r{number},{x},{z},{['red', 'blue'][number % 2]}"
        lines.append(line + (f",{truth(x, z)}" if labels else ""))
    return "\n".join(lines) + "\n"


def truth(x, z):
    return CLASSES[int(x * z > 0)]


def truth_of(question):
    values = {field.name: float(field.value) for field in question.fields if field.name in "xz"}
    return truth(values["x"], values["z"])


def rows(n, first=1000, seed=1, labels=False):
    random = np.random.default_rng((seed, first))
    made = []
    for number, (x, z) in enumerate(random.uniform(-1, 1, size=(n, 2)).round(4), first):
        fields = {"x": x, "z": z, "color": "red"}
        made.append(RowIn(fields, f"r{number}", truth(x, z) if labels else None))
    return made


def set_up(store=":memory:", n=60, **options):
    service = LearningService(store, **{"random_state": 0} | options)
    upload = service.inspect_upload(table(n).encode(), "points.csv").upload
    service.set_up(upload, classes=CLASSES, name="Points")
    return service


def answered(question, by, key=None, label=None, kind="label"):
    """The answer to a question, by its lease."""
    return AnswerIn(
        question.id,
        kind,
        key or f"{by}-{question.id}",
        (label or truth_of(question)) if kind == "label" else None,
        question.lease.id,
        question.lease.token,
    )


def work(service, by, n, **options):
    """Answer n questions one after another, each truly."""
    ids = []
    for _ in range(n):
        question = service.lease_questions(by, **options).questions[0]
        service.answer(by, [answered(question, by)])
        ids.append(question.id)
    return ids


def code_of(call):
    with pytest.raises(InputError) as caught:
        call()
    return caught.value.code


def state_of(service):
    return persist.pack(service.learner._state.state())


def is_replay(service):
    """Whether the model is that of a replay of the log, bit for bit, and of the store opened again."""
    place = service._store
    bits = state_of(service)
    service.close()
    with NeverEndingLearner.replay(place) as again:
        replayed = persist.pack(again._state.state()) == bits
    with NeverEndingLearner.open(place) as opened:
        return replayed and persist.pack(opened._state.state()) == bits
