"""One process per peer: a crash, a time limit or a memory peak does not affect the others."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import TYPE_CHECKING, Any

from .machine import memory, reset_peak

if TYPE_CHECKING:
    from .peer import Peer

WARM_UP_ROWS = 300
READY_LIMIT = 600.0  # seconds to import, load and try


class PeerFailed(Exception):
    """A peer gave no result; the message says why. `seconds` is set if it exceeded its time limit."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds


def _measured(call: Any) -> tuple[Any, dict[str, float]]:
    gc.collect()
    reset_peak()
    before = memory()["now"]
    start, start_cpu, start_own = perf_counter(), process_time(), thread_time()
    result = call()
    wall, cpu, own_cpu = perf_counter() - start, process_time() - start_cpu, thread_time() - start_own
    peak = memory()["peak"]
    own = result if isinstance(result, tuple) else (wall, cpu)
    measures = {"seconds": own[0], "cpu": own[1], "own_cpu": own_cpu}
    return result, measures | {"peak_mb": peak, "grown_mb": peak - before}


def _few(task: Any) -> Any:
    """Some rows of every class, to load lazily imported code before anything is measured."""
    import numpy as np

    classes = np.unique(task.y_train)
    share = max(2, WARM_UP_ROWS // len(classes))
    some = np.sort(np.concatenate([np.flatnonzero(task.y_train == c)[:share] for c in classes]))
    X, y = task.X_train[some], task.y_train[some]
    return replace(task, X_train=X, y_train=y, X_test=X[:50], y_test=y[:50])


def _answer(peer: Any, command: str, context: dict[str, Any]) -> dict[str, Any]:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    if command == "prepare":
        return _measured(lambda: peer.prepare(context))[1]
    if command == "fit":
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            _, measures = _measured(peer.fit)
        if any(issubclass(w.category, ConvergenceWarning) for w in caught):
            peer.note = "did not converge within its default iterations"
        return measures | {"facts": peer.facts()}
    if command == "predict":
        labels, measures = _measured(peer.predict)
        return measures | {"labels": labels, "facts": peer.facts()}
    if command == "exact":
        return dict(peer.exact())
    raise ValueError(command)


def _serve(
    conn: Connection, folder: Path, kind: type[Peer], threads: int, cache: float, options: Any
) -> None:
    import warnings

    from threadpoolctl import threadpool_limits

    from .data import Task
    from .peer import TooSlow

    warnings.filterwarnings("ignore")
    try:
        task = Task.load(folder)
        trial = kind(_few(task), threads, cache, options)
        threadpool_limits(threads)
        trial.try_out()
        peer = kind(task, threads, cache, options)
        threadpool_limits(threads)  # again: some libraries came in only now
    except ImportError as error:
        conn.send(("failed", f"not installed ({error})"))
        return
    except Exception as error:
        conn.send(("failed", f"{type(error).__name__}: {error}"))
        return
    conn.send(("ready", {}))
    while True:
        command, context = conn.recv()
        if command == "stop":
            return
        try:
            conn.send(("done", _answer(peer, command, context)))
        except TooSlow as error:
            conn.send(("late", (str(error), error.seconds)))
        except Exception as error:
            conn.send(("failed", f"{type(error).__name__}: {error}"))


class Worker:
    """The parent's side of one peer's process."""

    def __init__(
        self,
        folder: Path,
        kind: type[Peer],
        threads: int,
        cache: float,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.own_limit = kind.own_limit
        context = multiprocessing.get_context("spawn")
        self.conn, child = context.Pipe()
        self.process = context.Process(
            target=_serve,
            args=(child, folder, kind, threads, cache, options),
            daemon=threads == 1,  # joblib gives a daemonic process one thread
        )
        self.process.start()
        child.close()

    def ready(self) -> Worker:
        """Wait until the library is imported, the rows are loaded and a trial fit is done."""
        self._receive(READY_LIMIT)
        return self

    def _receive(self, limit: float | None) -> dict[str, Any]:
        if not self.conn.poll(limit):
            self.process.terminate()
            self.process.join()
            raise PeerFailed(f"stopped after {limit:.0f} s", limit)
        try:
            state, answer = self.conn.recv()
        except EOFError:
            self.process.join()
            raise PeerFailed(f"its process ended with code {self.process.exitcode}") from None
        if state == "late":
            raise PeerFailed(*answer)
        if state == "failed":
            raise PeerFailed(str(answer))
        return dict(answer)

    def ask(
        self, command: str, limit: float | None = None, context: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a command and wait; PeerFailed if the peer fails, dies or exceeds `limit` seconds."""
        self.conn.send((command, context or {}))
        return self._receive(limit)

    def fit(self, limit: float, context: dict[str, Any] | None = None) -> dict[str, Any]:
        """Prepare (not counted), then fit within `limit` seconds; a peer with `own_limit` times itself."""
        preparing = self.ask("prepare", context=(context or {}) | {"limit": limit})
        return self.ask("fit", 2 * limit if self.own_limit else limit) | {
            "prepare_seconds": preparing["seconds"]
        }

    def stop(self) -> None:
        """End the process if it is still running."""
        if self.process.is_alive():
            with contextlib.suppress(OSError):
                self.conn.send(("stop", {}))
            self.process.join(5)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()
