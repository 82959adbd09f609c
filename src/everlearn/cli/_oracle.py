"""The oracle: a simulated annotator who knows the labels of a file and answers questions."""

from array import array
from bisect import bisect_right
from typing import Any

from ..stream import NeverEndingLearner

_NONE = -1


class Oracle:
    """Answers questions a number of batches after they were asked.

    After batch b it answers the questions asked in batch b - delay or before. Open questions are in the
    store, so a new oracle that has seen the same labels continues in the middle of a stream. It keeps four
    bytes per row.

    Parameters
    ----------
    delay : int, default=0
        The delay in batches.
    """

    def __init__(self, delay: int = 0) -> None:
        self.delay = delay
        self._ends = array("q")  # rows in the store after each batch
        self._firsts: list[int] = []  # first row of each contiguous range
        self._codes: list[array[int]] = []
        self._labels: list[Any] = []
        self._code_of: dict[Any, int] = {None: _NONE}

    def see(self, first: int, labels: Any) -> None:
        """Add the labels of a batch whose first row has this number."""
        codes = array("i", [self._code(label) for label in labels])
        if self._firsts and self._firsts[-1] + len(self._codes[-1]) == first:
            self._codes[-1].extend(codes)
        else:
            self._firsts.append(first)
            self._codes.append(codes)
        self._ends.append(first + len(codes))

    def answer(self, learner: NeverEndingLearner, by: str = "oracle") -> int:
        """Answer the questions that are due; return their number."""
        n_open = learner.status()["open_questions"]
        if not n_open or not self._ends:
            return 0
        due = len(self._ends) - 1 - self.delay
        ids, labels = [], []
        for question in reversed(learner.ask(n_open)):  # oldest first
            label = self._label(question.number)
            if label is not None and self._batch_at(question.asked_row) <= due:
                ids.append(question.id)
                labels.append(label)
        if ids:
            learner.label(ids, labels, by=by)
        return len(ids)

    def _batch_at(self, n_rows: int) -> int:
        """The first batch after which there were at least n_rows rows."""
        return bisect_right(self._ends, n_rows - 1)

    def _label(self, number: int) -> Any:
        run = bisect_right(self._firsts, number) - 1
        if run < 0 or number - self._firsts[run] >= len(self._codes[run]):
            return None  # a row of another source
        code = self._codes[run][number - self._firsts[run]]
        return None if code == _NONE else self._labels[code]

    def _code(self, label: Any) -> int:
        if label not in self._code_of:
            self._code_of[label] = len(self._labels)
            self._labels.append(label)
        return self._code_of[label]
