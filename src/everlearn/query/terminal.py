"""Terminal: a person at the terminal as oracle."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from .._visible import visible, visible_lines
from ._answers import StopAsking
from ._rows import Places, take

_UNKNOWN, _QUIT = "?", "q"
_RESERVED = {_UNKNOWN, _QUIT, "quit", ""}
_MAX_SHOWN = 12


class Terminal:
    """Ask a person at the terminal for labels.

    Pass it to `ActiveLearner.run` as the oracle. A label is typed in full or by its first letters; ``?``
    means that the label is unknown; ``q``, ``quit`` or the end of the input ends the run. Answers given until
    then are kept.

    Parameters
    ----------
    classes : list of labels
        The possible answers.
    show : callable, default=None
        ``show(number, row)`` returns the text to show for a row. None lists its first features.

    Examples
    --------
    >>> from everlearn.query import Terminal
    >>> oracle = Terminal(["ham", "spam"], show=lambda number, row: messages[number])
    >>> loop.run(X, oracle)  # doctest: +SKIP
    """

    one_at_a_time = True

    def __init__(self, classes: Iterable[Any], show: Callable[[int, Any], str] | None = None) -> None:
        self.classes = list(classes)
        self.show = show
        names = [str(label) for label in self.classes]
        if len(names) < 2 or len(set(names)) < len(names) or _RESERVED & {n.strip() for n in names}:
            raise ValueError(
                f"classes must be at least two labels with different names, not empty and not {_UNKNOWN!r}, "
                f"{_QUIT!r} or 'quit', got {self.classes!r}."
            )
        self._asked = 0

    def __call__(self, numbers: Places, rows: Any) -> list[Any]:
        """The labels typed for some rows."""
        return [self._ask(int(number), take(rows, np.array([i]))) for i, number in enumerate(numbers)]

    def _ask(self, number: int, row: Any) -> Any:
        self._asked += 1
        text = _features(row) if self.show is None else visible_lines(self.show(number, row), indent="")
        names = " / ".join(map(visible, self.classes))
        print(f"\nQuestion {self._asked}, row {number}\n{text}")
        while True:
            try:
                typed = input(f"{names} ({_UNKNOWN} = don't know, {_QUIT} = quit): ").strip()
            except EOFError:
                raise StopAsking("the input ended") from None
            if typed in (_QUIT, "quit"):
                raise StopAsking("the person at the terminal quit")
            if typed == _UNKNOWN:
                return None
            found = self._matches(typed)
            if len(found) == 1:
                return found[0]
            print(f"{typed!r} could be {' or '.join(map(visible, found))}." if found else f"{typed!r}?")

    def _matches(self, typed: str) -> list[Any]:
        shown = [label for label in self.classes if visible(label).strip() == typed]
        exact = shown or [label for label in self.classes if str(label).strip() == typed]
        return exact or [label for label in self.classes if typed and str(label).strip().startswith(typed)]


def _features(row: Any) -> str:
    """The first features of a row, with their names if it has any."""
    if sparse.issparse(row):
        entries = sparse.csr_matrix(row)
        names, values = [str(column) for column in entries.indices], entries.data
    else:
        values = np.asarray(row).ravel()
        columns = getattr(row, "columns", None)
        names = [str(name) for name in (range(len(values)) if columns is None else columns)]
    shown = [
        f"  {visible(name)}: {value:.6g}"
        if isinstance(value, float | np.floating)
        else f"  {visible(name)}: {visible(value)}"
        for name, value in list(zip(names, values, strict=True))[:_MAX_SHOWN]
    ]
    more = len(names) - len(shown)
    return "\n".join([*shown, *([f"  and {more} more"] if more else [])])
