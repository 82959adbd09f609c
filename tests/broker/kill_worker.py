"""Consumers to be killed: for every line of input, a process is forked that runs `everlearn` with its words.

It may be told to kill itself before or after a transaction. Out come the number of the process and, when it
has ended, its status.
"""

import contextlib
import itertools
import json
import os
import signal
import sys

from everlearn.cli import app
from everlearn.store.log import Log


def die(when, count):
    """Let this process be killed before or after the transaction of this number."""
    numbers, begin = itertools.count(1), Log.writing  # several threads may write to several logs

    @contextlib.contextmanager
    def writing(log):
        chosen = next(numbers) == count
        with begin(log) as transaction:
            yield transaction
            if chosen and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
        if chosen:
            os.kill(os.getpid(), signal.SIGKILL)

    Log.writing = writing


def serve():
    for line in sys.stdin:
        words, moment = json.loads(line)
        child = os.fork()
        if child == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1):
                os.dup2(null, stream)
            status = 1
            if moment:
                die(*moment)
            try:
                app(words, standalone_mode=False)
                status = 0
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(status)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
