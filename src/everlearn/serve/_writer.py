"""One thread that writes: what arrives while it works becomes the next block, with one commit for all of it.

Jobs of people and of programs wait in two queues, which take turns. So an answer waits for one block of rows
at most, however many rows are waiting, and rows are not held up by answers.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Condition, Event, Thread
from typing import Any

from ..errors import BusyError, StoreError

PEOPLE, PROGRAMS = 0, 1  # the queues


class Job:
    """Something to be written, and what became of it.

    Parameters
    ----------
    kind : str
        Its kind: jobs of the same kind that wait at the same time are done together.
    content : object
        What to write.
    size : int
        Its size, in rows.
    """

    def __init__(self, kind: str, content: Any, size: int) -> None:
        self.kind, self.content, self.size = kind, content, size
        self._done = Event()
        self._result: Any = None

    def finish(self, result: Any) -> None:
        """Set the result; an exception is raised by `wait`."""
        self._result = result
        self._done.set()

    def wait(self) -> Any:
        """Wait for the result."""
        self._done.wait()
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result


class Writer:
    """A thread that does jobs in groups.

    Parameters
    ----------
    handlers : mapping of str to callable
        For each kind of job a function that gets the contents of a group, and returns a result or an
        exception for each. If it raises, nothing of the group was written: its jobs are then done one by one.
    queue_length : int
        The maximum number of jobs that wait in each queue.
    block_rows : int
        The maximum size of a group.
    after : callable
        Called after each group.
    """

    def __init__(
        self,
        handlers: Mapping[str, Callable[[list[Any]], Sequence[Any]]],
        queue_length: int,
        block_rows: int,
        after: Callable[[], None],
    ) -> None:
        self._handlers, self._queue_length, self._block_rows = handlers, queue_length, block_rows
        self._after = after
        self._queues: tuple[deque[Job], deque[Job]] = (deque(), deque())
        self._changed = Condition()
        self._closed = False
        self._turn = PEOPLE
        self._seconds = 0.05  # of a group, smoothed
        self._thread = Thread(target=self._run, name="everlearn-writer", daemon=True)
        self._thread.start()

    def do(self, kind: str, content: Any, *, size: int = 1, queue: int = PEOPLE) -> Any:
        """Do a job; returns its result once it is durable. A full queue is a `BusyError`."""
        job = Job(kind, content, size)
        with self._changed:
            if self._closed:
                raise StoreError("The service is closing.", code="closing")
            waiting = self._queues[queue]
            if len(waiting) >= self._queue_length:
                raise BusyError(
                    f"{len(waiting)} requests are waiting to be written.",
                    retry_after=max(1.0, round(self._seconds * len(waiting), 1)),
                )
            waiting.append(job)
            self._changed.notify()
        return job.wait()

    def waiting(self) -> int:
        """The number of jobs that wait."""
        return sum(map(len, self._queues))

    def close(self) -> None:
        """Do what is waiting, and end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not any(self._queues) and not self._closed:
                    self._changed.wait()
                if not any(self._queues):
                    return
                group = self._next()
            start = time.perf_counter()
            self._do(group)
            self._after()
            self._seconds += 0.1 * (time.perf_counter() - start - self._seconds)

    def _next(self) -> list[Job]:
        """The next group: the first job of the queue whose turn it is, and those of its kind behind it.

        Jobs that wait together have no order: nobody knows yet that they were done.
        """
        queue = self._queues[self._turn] or self._queues[1 - self._turn]
        self._turn = 1 - self._turn
        group, others, size = [queue.popleft()], [], 0
        while queue:
            job = queue.popleft()
            if job.kind == group[0].kind and group[0].size + size + job.size <= self._block_rows:
                size += job.size
                group.append(job)
            else:
                others.append(job)
        queue.extend(others)
        return group

    def _do(self, group: list[Job]) -> None:
        handler = self._handlers[group[0].kind]
        try:
            results = handler([job.content for job in group])
            for job, result in zip(group, results, strict=True):
                job.finish(result)
        except BaseException as error:
            if len(group) == 1 or isinstance(error, StoreError):
                for job in group:
                    job.finish(error)
                return
            for job in group:  # one of them is wrong: the others are done without it
                self._do([job])
