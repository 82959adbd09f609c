"""A run of a never-ending linkage whose process is killed at some write, and which resumes where it was."""

import os
import signal
import sys
import time

from everlearn.datasets import make_author_records
from everlearn.errors import StoreError
from everlearn.linkage import AuthorName, Blocking, NeverEndingLinker
from everlearn.store.log import Writing

N, PARTS, ANSWERS = 36, 3, 5


def opened(store):
    """Open the store; a server needs a moment to notice that the last process was killed."""
    end = time.monotonic() + 30
    while True:
        try:
            return NeverEndingLinker.open(store, blocking=Blocking(AuthorName()))
        except StoreError:  # noqa: PERF203
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def run(linker):
    """Add records in parts, answer questions after each, and forget a record; all that is not yet done."""
    table, person = make_author_records({"J. Smith": (N, 6)}, scale=1, random_state=1)
    table = [{"id": at, **row} for at, row in enumerate(table)]
    for part in range(PARTS):
        end = (part + 1) * N // PARTS
        linker.add(table[part * N // PARTS : end], duplicates="skip")
        while _n_answers(linker) < (part + 1) * ANSWERS:
            for question in linker.ask(1):
                same = person[question.left_id] == person[question.right_id]
                linker.tell(question.id, bool(same), by="Ada")


def _n_answers(linker):
    return sum(answer.by == "Ada" for _, answer in linker.learner.given_answers())


def kill_at(n):
    """Kill this process at the n-th write to the database from now on."""
    write, left = Writing.add_lines, [n]

    def counted(self, insert, lines):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, insert, lines)

    Writing.add_lines = counted


if __name__ == "__main__":
    for moment in map(int, sys.argv[2:]):
        child = os.fork()  # one import for all of them; this process has no thread and no open store
        if child == 0:
            with opened(sys.argv[1]) as the_linker:
                kill_at(moment)
                run(the_linker)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"was not killed at write {moment}"
