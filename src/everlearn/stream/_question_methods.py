"""The methods of the never-ending learner that ask: questions that are open, and new ones."""

import time as clock
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from .._base.lock import locked, one_writer
from ..store.events import Asked
from . import _checks
from ._answer_methods import AnswerMethods
from ._questions import Question

_IDS_AT_A_TIME = 100  # of open questions


class QuestionMethods(AnswerMethods):
    """Base of `NeverEndingLearner`: asks questions."""

    @one_writer
    def ask(self, n: int = 1) -> list[Question]:
        """Get open questions; if there are fewer than ``n``, ask about more of the rows in memory.

        Parameters
        ----------
        n : int, default=1
            The maximum number of questions.

        Returns
        -------
        list of Question
            The questions, newest first; random checks come forward if too few of them were answered. New ones
            ignore ``label_rate``, but not ``label_budget``.
        """
        self._check_open()
        count = _checks.count(n)
        asking = self._state.questions
        more = (
            asking.within_budget(count - len(asking.open)) > 0 and self._settings.query_strategy is not None
        )
        if more and len(self._state.pool) > 0 and not self._log.read_only:
            self._record(Asked(count, clock.time()))
        newest = list(islice(asking.newest_first(), count))
        return self._with_ids(newest)

    @locked
    def open_questions(self) -> list[Question]:
        """Get the questions that are open, without asking about more rows.

        Returns
        -------
        list of Question
            The questions, in the order of `ask`.
        """
        return list(self.each_open_question())

    def each_open_question(self) -> Iterator[Question]:
        """Iterate over the questions that are open, ordered as by `ask`; use it within a block of `reading`.

        Like `open_questions`, for those who need the first few of many.

        Yields
        ------
        Question
            A question.
        """
        self._check_open()
        questions = self._state.questions
        found = questions.newest_first()
        if len(self._open_ids) > 2 * len(questions.open) + _IDS_AT_A_TIME:
            self._open_ids = {}
        while part := list(islice(found, _IDS_AT_A_TIME)):
            new = [question for question in part if question.number not in self._open_ids]
            self._open_ids |= {question.number: question.id for question in self._with_ids(new)}
            for question in part:
                yield replace(question, id=self._open_ids[question.number])

    @property
    @locked
    def n_candidates(self) -> int:
        """The number of unlabeled rows in memory about which there is no question yet."""
        self._check_open()
        return int((~np.isin(self._state.pool.numbers, self._state.questions.open_numbers())).sum())
