"""Sources that grow while they are read: folders, topics and streams."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ..broker import is_broker
from ..errors import StoreError
from ..stream import NeverEndingLearner
from ..stream.exchange import Exchange
from ._format import plural
from ._interrupt import Interrupt
from ._runner import Plan
from ._source_spec import SourceSpec

_LOOK_SECONDS = 1.0


def check_live(source: str, follow: bool, idle: float | None, others: Mapping[str, Any]) -> None:
    """Options of brokers are for brokers, those of files for files, and --follow is for folders."""
    live = is_broker(source)
    if follow and not os.path.isdir(source):
        raise ValueError("--follow is for folders; topics and streams are followed anyway.")
    if idle is not None and not (follow or live):
        raise ValueError("--idle is for topics, streams, and folders with --follow.")
    if others["--offset-reset"] is not None and not live:
        raise ValueError("--offset-reset is for topics and streams.")
    if live:
        for option in ("--oracle", "--sql", "--skip-rows", "--format"):
            if others[option] is not None:
                raise ValueError(f"{option} is for files, not for topics and streams.")


class Follow:
    """The files of a folder, and those that are added to it."""

    def __init__(self, idle: float | None) -> None:
        self._idle = idle
        self._seen: dict[str, tuple[int, int]] = {}  # size and time of a file when it was last looked at
        self._yielded: dict[str, tuple[int, int]] = {}
        self.note()

    def note(self) -> None:
        """Something was read: it is not idle."""
        self._last = time.monotonic()

    def files(self, spec: SourceSpec, interrupt: Interrupt) -> Iterator[SourceSpec]:
        """Files that did not change between two looks, as they come; until it is idle or interrupted."""
        while True:
            for file in self._unchanged(spec):
                yield file
                if interrupt.asked:
                    return
                self._last = max(self._last, time.monotonic())
            if self._idle is not None and time.monotonic() - self._last >= self._idle + _LOOK_SECONDS:
                return
            try:
                with interrupt.at_once():
                    time.sleep(_LOOK_SECONDS)
            except KeyboardInterrupt:
                return

    def _unchanged(self, spec: SourceSpec) -> list[SourceSpec]:
        """The files that are as they were at the last look, and were not returned like this before."""
        found = []
        for file in spec.files_now():
            with contextlib.suppress(FileNotFoundError):
                state = os.stat(file.path)
                version = state.st_size, state.st_mtime_ns
                if self._seen.get(file.path) == version != self._yielded.get(file.path) and state.st_size:
                    self._yielded[file.path] = version
                    found.append(file)
                self._seen[file.path] = version
        return found


def exchange_of(plan: Plan, learner: NeverEndingLearner, opened: contextlib.ExitStack) -> Exchange | None:
    """Where questions go and answers come from; None if the plan has neither."""
    if plan.questions_to is None and plan.answers_from is None:
        return None
    return opened.enter_context(
        Exchange(
            learner,
            questions=plan.questions_to,
            answers=plan.answers_from,
            offset_reset=plan.source.offset_reset,
            quarantine=plan.source.quarantine,
        )
    )


def exchange_message(exchange: Exchange) -> str:
    """What to print about answers; "" if there were none."""
    if not exchange.n_answers and not exchange.n_bad:
        return ""
    reasons = "; ".join(f"{reason} ({n:,})" for reason, n in list(exchange.reasons.items())[:3])
    bad = f"; {plural(exchange.n_bad, 'wrong answer')} skipped: {reasons}" if exchange.n_bad else ""
    return f"{plural(exchange.n_answers, 'answer')} learned{bad}."


@contextlib.contextmanager
def one_consumer(source: SourceSpec) -> Iterator[None]:
    """A second consumer on a store is refused, and told how to share a topic."""
    try:
        yield
    except StoreError as error:
        if error.code != "in_use" or not source.is_broker:
            raise
        raise StoreError(
            f"{error.problem} One process at a time feeds a store: two would learn the same messages twice. "
            "To share a topic or stream among processes, split it by a key: --shards N --shard-by FIELD, and "
            "--shard K in each process."
        ) from None
