"""History: the record of an `ActiveLearner`, one entry for each label."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .._html import escaped, table
from .stopping._stopping_rule import pyplot

_COLUMNS = ("n_labels", "row", "label", "chosen_by", "correct", "margin", "free_margin", "n_support", "score")
_ALL_COLUMNS = (*_COLUMNS, "reason")  # too long for a printed table
_ENDS = 5  # entries printed at the beginning and at the end


class History(list[dict[str, Any]]):
    """A list with one dict for each label, in the order in which they were given.

    ==============  ==========================================================================================
    "n_labels"      number of labels, this one included; several answers for one row count each
    "row"           row number in the pool
    "label"         the label
    "chosen_by"     what chose the row: "initial", "cold start (farthest)", "cold start (random)", the name of
                    the query strategy, "explore" and "ask again" of `Auto`, "told" for a label that was not
                    asked for, or "journal" for one read from a journal
    "reason"        why, for example near which boundary the row lies, or how far it is from all others
    "correct"       whether the model predicted the label before it learned it; None if it was not fitted
    "margin"        |f(x)| before the label was learned, with more than two classes the gap between the two
                    largest scores; None if the model was not fitted
    "free_margin"   the largest such value over the free support vectors then; None if there are none
    "n_support"     number of support vectors after the label was learned; None if the model has none
    "score"         score on the test rows after that; None if the model was not scored
    ==============  ==========================================================================================

    Parameters
    ----------
    records : iterable of dict, default=()
        Initial entries.
    """

    def __init__(self, records: Iterable[dict[str, Any]] = ()) -> None:
        super().__init__(records)

    def to_pandas(self) -> Any:
        """Convert to a data frame with a row for each label; needs pandas.

        Returns
        -------
        pandas.DataFrame
            The table.
        """
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas, which is not installed: pip install pandas."
            ) from error
        return pandas.DataFrame(list(self), columns=list(_ALL_COLUMNS))

    def label_counts(self) -> dict[Any, int]:
        """Count the labels of each class, the most frequent first.

        Returns
        -------
        dict
            Counts by class.
        """
        return dict(Counter(record["label"] for record in self).most_common())

    def scores(self) -> tuple[list[int], list[float]]:
        """Return the learning curve: numbers of labels and the scores at them.

        Returns
        -------
        tuple of (list, list)
            Numbers of labels, and scores.
        """
        scored = [record for record in self if record["score"] is not None]
        return [record["n_labels"] for record in scored], [record["score"] for record in scored]

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Plot scores over labels, or support vectors if there are no scores; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes. None creates a new figure.
        options : dict
            Passed to ``ax.plot``, for example ``label``.

        Returns
        -------
        matplotlib Axes
            The axes.
        """
        ax = pyplot().subplots()[1] if ax is None else ax
        labels, values = self.scores()
        if not values:
            labels, values = [r["n_labels"] for r in self], [r["n_support"] for r in self]
        ax.plot(labels, values, **options)
        ax.set_xlabel("labels")
        ax.set_ylabel("score" if self.scores()[1] else "support vectors")
        return ax

    def _lines(self) -> list[list[str]]:
        """The first and the last entries as cells."""
        whole = len(self) <= 2 * _ENDS + 1
        shown = list(self) if whole else [*self[:_ENDS], None, *self[-_ENDS:]]
        return [["…"] * len(_COLUMNS) if r is None else [_cell(r[c]) for c in _COLUMNS] for r in shown]

    def _counts(self) -> str:
        counts = ", ".join(f"{count} of {label!r}" for label, count in self.label_counts().items())
        return f"{len(self)} labels: {counts}."

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No labels yet.</p>"
        return f"{table(self._lines(), heads=_COLUMNS)}<p>{escaped(self._counts())}</p>"

    def __str__(self) -> str:
        if not self:
            return "No labels yet."
        lines = self._lines()
        widths = [max(map(len, column)) for column in zip(_COLUMNS, *lines, strict=True)]
        rows = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in [list(_COLUMNS), *lines]
        ]
        return "\n".join([*rows, self._counts()])


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
