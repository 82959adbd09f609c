"""Progress of a run: a live panel on a terminal, otherwise a line every few seconds."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from ._console import styled
from ._format import count, duration, plural, rate, score

_LIVE_SECONDS = 0.25
_PLAIN_SECONDS = 5.0
_RATE_SECONDS = 10.0  # over which the speed is measured


class Silent:
    """Prints nothing."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    speed: float | None = None

    def update(self, runner: Any) -> None:
        """Ignore the batch."""

    def print(self, text: str) -> None:
        """Ignore the text."""


class Progress:
    """Prints the progress of a run.

    Parameters
    ----------
    console : Console
        The console; a terminal shows a panel, anything else lines.
    clock : callable, default=time.monotonic
        Returns seconds.
    pause : float, default=None
        The minimum number of seconds between two updates; None for 0.25 on a terminal, otherwise 5.
    """

    def __init__(self, console: Console, clock: Any = time.monotonic, *, pause: float | None = None) -> None:
        self._console, self._clock = console, clock
        self._pause = pause if pause is not None else _LIVE_SECONDS if console.is_terminal else _PLAIN_SECONDS
        self._live = None
        if console.is_terminal:
            self._live = Live(console=console, auto_refresh=False, transient=True)
        self._start = self._last = clock()
        self._begun: tuple[float, int] | None = None
        self._past: deque[tuple[float, int]] = deque()

    def __enter__(self) -> "Progress":
        self._start = self._last = self._clock()
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def print(self, text: str) -> None:
        """Print a line, unless it is empty."""
        if text:
            self._console.print(text)

    def update(self, runner: Any) -> None:
        """Note a batch, and show the progress if it is time."""
        self.show(runner.source.n_rows, runner.learner.status, runner.source)

    def show(self, n_rows: int, status_of: Callable[[], dict[str, Any]], source: Any = None) -> None:
        """Note the number of rows, and show the progress if it is time; a watched store has no source."""
        now = self._clock()
        self._past.append((now, n_rows))
        while len(self._past) > 2 and now - self._past[0][0] > _RATE_SECONDS:
            self._past.popleft()
        self._begun = self._begun or self._past[0]
        if now - self._last < self._pause:
            return
        self._last, status = now, status_of()
        if self._live is None:
            self.print(line(status, source, self._rate()))
        else:
            self._live.update(panel(status, source, self._rate(), now - self._start), refresh=True)

    @property
    def speed(self) -> float | None:
        """Rows per second over the whole run."""
        return None if self._begun is None else _slope(self._begun, self._past[-1])

    def _rate(self) -> float | None:
        return _slope(self._past[0], self._past[-1])


def _slope(start: tuple[float, int], end: tuple[float, int]) -> float | None:
    return (end[1] - start[1]) / (end[0] - start[0]) if end[0] > start[0] else None


def fraction_done(source: Any) -> float | None:
    """The fraction of the source that has been read; None for a pipe, and without a source."""
    if source is None:
        return None
    if source.n_rows_total:
        return min(1.0, float((source.n_rows + source.quarantined) / source.n_rows_total))
    if source.bytes_total:
        return min(1.0, float(source.bytes_read / source.bytes_total))
    return None


def line(status: dict[str, Any], source: Any, speed: float | None) -> str:
    """The progress as one line."""
    done = fraction_done(source)
    window, majority = _scores(status)
    parts = [
        f"{plural(status['rows'], 'row')}" + ("" if done is None else f" ({done:.0%})"),
        f"{rate(speed)} rows/s",
        f"{plural(status['asked'], 'question')}, {count(status['open_questions'])} open",
        f"accuracy {score(window.get('accuracy'))} (majority {score(majority.get('accuracy'))})",
        f"g-means {score(window.get('g_means'))} ({score(majority.get('g_means'))})",
        plural(status["support_vectors"] or 0, "support vector"),
        f"{status['memory_mb']:.0f} MiB",
        plural(len(status["drift_alarms"]), "drift alarm"),
    ]
    if source is not None and source.quarantined:
        parts.append(plural(source.quarantined, "bad row"))
    return ", ".join(parts)


def panel(status: dict[str, Any], source: Any, speed: float | None, seconds: float) -> Group:
    """The progress as a panel of a few lines."""
    done = fraction_done(source)
    head = Table.grid(padding=(0, 1))
    name = styled(
        status["store"] if source is None else source.name, style="bold", no_wrap=True, overflow="ellipsis"
    )
    spent = styled(duration(seconds), style="dim")
    if done is None:
        head.add_row(name, spent)
    else:
        bar = ProgressBar(total=1.0, completed=done, width=32)
        head.add_row(name, bar, styled(f"{done:.0%}"), spent)
    return Group(head, facts(status, source, speed))


def facts(status: dict[str, Any], source: Any, speed: float | None) -> Table:
    """A table of the main numbers, with the scores of the majority baseline."""
    window, majority = _scores(status)
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column()
    n_alarms, n_bad = len(status["drift_alarms"]), 0 if source is None else source.quarantined
    asked = plural(status["asked"], "question") + f" asked, {count(status['open_questions'])} open"
    labels = f"last {plural(int(window.get('n', 0)), 'label')}"
    rows: list[tuple[str, str, str]] = [
        ("rows", count(status["rows"]), "" if speed is None else f"{rate(speed)} rows/s"),
        ("labels", count(status["labels"]), asked),
        ("accuracy", score(window.get("accuracy")), f"majority {score(majority.get('accuracy'))}, {labels}"),
        ("g-means", score(window.get("g_means")), f"majority {score(majority.get('g_means'))}"),
        (
            "support vectors",
            count(status["support_vectors"] or 0),
            f"{status['memory_mb']:.0f} MiB memory",
        ),
        (
            "drift alarms",
            count(n_alarms),
            f"last at row {count(status['drift_alarms'][-1]['row'])}" if n_alarms else "",
        ),
    ]
    if n_bad:
        rows.append(("bad rows", count(n_bad), "skipped"))
    for name, value, more in rows:
        warn = (name == "drift alarms" and n_alarms) or name == "bad rows"
        grid.add_row(
            styled(f"  {name}"),
            styled(value, style="yellow" if warn else "bold cyan"),
            styled(more, style="dim"),
        )
    return grid


def _scores(status: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scores over the window, of the learner and of the majority baseline."""
    scores = status["scores"]
    if not scores["total"]["n"] and not scores["total"]["abstained"]:
        return {}, {}
    return scores["window"], scores["baselines"]["majority"]["window"]
