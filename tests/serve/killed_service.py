"""A service to be killed: threads add rows, answer and undo, and acknowledge every call that has returned."""

import os
import sys
import threading

from everlearn.serve.service import AnswerIn, LearningService
from serve.service_helpers import CLASSES, rows


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def produce(service, run):
    for turn in range(10_000):
        key, first = f"{run}-{turn}", 10_000 + 1000 * int(run) + 3 * turn
        added = service.add_rows(rows(3, first=first), by="p", key=key)
        say("rows", key, *(row.id for row in added.predictions))


def label(service, run, by):
    for turn in range(10_000):
        for question in service.lease_questions(by, 2).questions:
            key = f"{by}-{run}-{turn}-{question.id}"
            given = CLASSES[turn % 2]
            service.answer(by, [AnswerIn(question.id, "label", key, given)])
            say("label", key, question.id, by, given)
            if turn % 4 == 3:
                service.undo(question.id, by)
                say("undone", key, question.id, by, "-")


if __name__ == "__main__":
    place, run = sys.argv[1:]
    with LearningService(place) as service:
        say("open")
        threads = [threading.Thread(target=produce, args=(service, run), daemon=True)]
        threads += [
            threading.Thread(target=label, args=(service, run, by), daemon=True) for by in ("ada", "bob")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
