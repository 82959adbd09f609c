"""How a run goes: a panel that is drawn anew on a terminal, and else a line every few seconds."""

import time
from collections import deque
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from ._console import styled
from ._words import count, duration, plural, rate, share

_LIVE_SECONDS = 0.25
_PLAIN_SECONDS = 5.0
_RATE_SECONDS = 10.0  # over which rows a second are taken


class Silent:
    """No progress at all."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    speed: float | None = None

    def update(self, run: Any) -> None:
        """Show nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""


class Progress:
    """Shows how a run goes, on a console.

    Parameters
    ----------
    console : Console
        Where; a terminal gets a panel, anything else lines.
    clock : callable, default=time.monotonic
        Seconds.
    """

    def __init__(self, console: Console, clock: Any = time.monotonic) -> None:
        self._console, self._clock = console, clock
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

    def say(self, text: str) -> None:
        """A line that stays; nothing for an empty one."""
        if text:
            self._console.print(text)

    def update(self, run: Any) -> None:
        """Take note of a batch, and show it if it is time to."""
        now = self._clock()
        self._past.append((now, run.source.n_rows))
        while len(self._past) > 2 and now - self._past[0][0] > _RATE_SECONDS:
            self._past.popleft()
        self._begun = self._begun or self._past[0]
        pause = _PLAIN_SECONDS if self._live is None else _LIVE_SECONDS
        if now - self._last < pause:
            return
        self._last = now
        status = run.learner.status()
        if self._live is None:
            self.say(line(status, run.source, self._rate()))
        else:
            self._live.update(panel(status, run.source, self._rate(), now - self._start), refresh=True)

    @property
    def speed(self) -> float | None:
        """Rows a second over the whole run."""
        return None if self._begun is None else _slope(self._begun, self._past[-1])

    def _rate(self) -> float | None:
        return _slope(self._past[0], self._past[-1])


def _slope(start: tuple[float, int], end: tuple[float, int]) -> float | None:
    return (end[1] - start[1]) / (end[0] - start[0]) if end[0] > start[0] else None


def share_done(source: Any) -> float | None:
    """How much of the source is read, from 0 to 1; None for a pipe."""
    if source.n_rows_total:
        return min(1.0, float((source.n_rows + source.quarantined) / source.n_rows_total))
    if source.bytes_total:
        return min(1.0, float(source.bytes_read / source.bytes_total))
    return None


def line(status: dict[str, Any], source: Any, speed: float | None) -> str:
    """Where a run stands, in a line."""
    done = share_done(source)
    window, majority = _scores(status)
    parts = [
        f"{plural(status['rows'], 'row')}" + ("" if done is None else f" ({done:.0%} of the source)"),
        f"{rate(speed)} a second",
        f"{plural(status['asked'], 'question')}, {count(status['open_questions'])} open",
        f"accuracy {share(window.get('accuracy'))} (majority {share(majority.get('accuracy'))})",
        f"g-means {share(window.get('g_means'))} ({share(majority.get('g_means'))})",
        plural(status["support_vectors"] or 0, "support vector"),
        f"{status['memory_mb']:.0f} MiB",
        plural(len(status["drift_alarms"]), "drift alarm"),
    ]
    if source.quarantined:
        parts.append(plural(source.quarantined, "bad row"))
    return ", ".join(parts)


def panel(status: dict[str, Any], source: Any, speed: float | None, seconds: float) -> Group:
    """Where a run stands, over a few lines."""
    done = share_done(source)
    head = Table.grid(padding=(0, 1))
    name = styled(source.name, style="bold", no_wrap=True, overflow="ellipsis")
    spent = styled(duration(seconds), style="dim")
    if done is None:
        head.add_row(name, spent)
    else:
        bar = ProgressBar(total=1.0, completed=done, width=32)
        head.add_row(name, bar, styled(f"{done:.0%}"), spent)
    return Group(head, facts(status, source, speed))


def facts(status: dict[str, Any], source: Any, speed: float | None) -> Table:
    """Numbers with their names, the scores beside those of the majority."""
    window, majority = _scores(status)
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column()
    n_alarms, n_bad = len(status["drift_alarms"]), 0 if source is None else source.quarantined
    asked = plural(status["asked"], "question") + f" asked, {count(status['open_questions'])} open"
    labels = f"of the last {plural(int(window.get('n', 0)), 'label')}"
    rows: list[tuple[str, str, str]] = [
        ("rows", count(status["rows"]), "" if speed is None else f"{rate(speed)} a second"),
        ("labels", count(status["labels"]), asked),
        ("accuracy", share(window.get("accuracy")), f"majority {share(majority.get('accuracy'))}, {labels}"),
        ("g-means", share(window.get("g_means")), f"majority {share(majority.get('g_means'))}"),
        (
            "support vectors",
            count(status["support_vectors"] or 0),
            f"{status['memory_mb']:.0f} MiB of memory",
        ),
        (
            "drift alarms",
            count(n_alarms),
            f"the last at row {count(status['drift_alarms'][-1]['row'])}" if n_alarms else "",
        ),
    ]
    if n_bad:
        rows.append(("bad rows", count(n_bad), "set aside"))
    for name, value, more in rows:
        warn = (name == "drift alarms" and n_alarms) or name == "bad rows"
        grid.add_row(
            styled(f"  {name}"),
            styled(value, style="yellow" if warn else "bold cyan"),
            styled(more, style="dim"),
        )
    return grid


def _scores(status: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scores over the window, of the learner and of the majority."""
    scores = status["scores"]
    if not scores["total"]["n"] and not scores["total"]["abstained"]:
        return {}, {}
    return scores["window"], scores["baselines"]["majority"]["window"]
