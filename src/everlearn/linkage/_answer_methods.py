"""The methods of the never-ending linker that ask about pairs and take answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.lock import locked
from ..errors import InputError
from ..query.stopping import Verdict
from ..store.linked import LinkedPairs
from ..store.log import Writing
from ..store.lookup import Id, some
from ..stream.answers import AnswerFor
from ._linked_state import TRANSITIVE
from ._pair_learner import DIFFERENT, SAME, schema_of
from ._relink_methods import RelinkMethods
from ._results import PairQuestion
from ._stopping import stability
from .answers import Contradiction


class AnswerMethods(RelinkMethods):
    """Base of `NeverEndingLinker`: questions and answers."""

    @locked
    def ask(self, n: int = 1) -> list[PairQuestion]:
        """Get questions about pairs; none whose answer follows from others.

        Parameters
        ----------
        n : int, default=1
            The maximum number of questions.

        Returns
        -------
        list of PairQuestion
            The questions; their ids are those of rows in the store. None if the stopping rule that `open` was
            given says stop; `verdict` says why.
        """
        self._follow()
        if self._rule is not None and self._rule.verdict().stop:
            return []
        asked = self._ask(n)
        if len(asked) < n and self._learner.can_ask:  # offers more pairs, if there are any
            self.relink()
            asked = self._ask(n)
        return [self._question(question) for question in asked]

    def _ask(self, n: int) -> list[Any]:
        """Questions whose answers do not follow from others; answers that do are learned."""
        while True:
            most = n + len(self._unknown)
            asked = [found for found in self._learner.ask(most) if found.id not in self._unknown][:n]
            implied = {question.id: self._known().implied(*_ends(question.id)) for question in asked}
            follows = {row: same for row, same in implied.items() if same is not None}
            if not follows:
                return asked
            labels = [SAME if same else DIFFERENT for same in follows.values()]
            self._learner.label(list(follows), labels, by=TRANSITIVE)
            self._take_up()

    @locked
    def verdict(self) -> Verdict:
        """Decide whether more answers are of use.

        Returns
        -------
        Verdict
            That of the stopping rule that `open` was given. Without one it says stop once the last answers,
            20 and at least a tenth of all, have changed the clusters of at most 1 % of the records that share
            one; `ask` asks nevertheless.
        """
        self._follow()
        if self._rule is not None:
            return self._rule.verdict()
        return stability(self._state["looks"], self._state["n_same"] + self._state["n_different"])

    @locked
    def follows(self, question: str) -> bool:
        """Whether the answer to a question follows from others by now; then it is learned.

        Parameters
        ----------
        question : str
            Its id.

        Returns
        -------
        bool
            Whether it does.
        """
        self._follow()
        same = self._known().implied(*_ends(question))
        if same is not None:
            self._learner.label([question], [SAME if same else DIFFERENT], by=TRANSITIVE)
            self._follow()
        return same is not None

    def _question(self, question: Any) -> PairQuestion:
        a, b = _ends(question.id)
        found = self._linked.records([a, b])
        (left_id, left), (right_id, right) = found[a], found[b]
        differs = [name for name in left if left[name] != right.get(name, "")]
        return PairQuestion(question.id, left, right, differs, question.reason, left_id, right_id)

    @locked
    def tell(self, question: str, same: bool | None, *, by: str = "") -> None:
        """Answer a question.

        Parameters
        ----------
        question : str
            Its id.
        same : bool or None
            Whether the records are the same; None if that is unknown: then the question stays open for
            others, but is not asked again here until it was answered, or the store is opened anew.
        by : str, default=""
            Who answers.
        """
        if same is None:
            self._learner.answer([AnswerFor(question, None, by, kind="skip")])
            self._unknown.add(question)
        else:
            self._learner.label([question], [SAME if same else DIFFERENT], by=by)
        self._follow()

    @locked
    def answer(self, left: Id, right: Id, same: bool | None, *, by: str = "") -> None:
        """Say of two records whether they are the same, asked or not, or withdraw that.

        Records that are not the same are in different clusters from now on, and records that are in one.

        Parameters
        ----------
        left, right : int or str
            The ids of the records.
        same : bool or None
            Whether they are the same; None withdraws the answers for this pair.
        by : str, default=""
            Who says so.
        """
        self._follow()
        a, b = sorted(self._numbers([left, right]))
        if a == b:
            raise InputError(f"{left!r} is one record: a pair has two.", code="one_record")
        if self._state["two_tables"] and len(set(self._linked.sides_of([a, b]).values())) == 1:
            raise InputError(
                f"{left!r} and {right!r} are in the same table: this store links records of two tables.",
                code="same_table",
            )
        found = self._linked.pair(a, b)
        if not len(found) or found.rows[0] is None:
            if same is None:
                raise InputError(f"There is no answer for {left!r} and {right!r}.", code="no_answer")
            self._add_pair(a, b, found)
        if same is None:
            self._learner.withdraw([f"{a}-{b}"], by=by)
        else:
            self._learner.label([f"{a}-{b}"], [SAME if same else DIFFERENT], by=by)
        self._follow()

    def _add_pair(self, a: int, b: int, found: LinkedPairs) -> None:
        """Make a pair a row of the log; one that is not compared is, from now on."""
        order, records = self._some_records([a, b])
        pair = found
        if not len(found):
            pair = self._pairs(np.array([a]), np.array([b]), np.array([0]), order, records)
        known = self._linked.records([a, b])

        def write(writing: Writing) -> None:
            if not len(found):
                self._linked.add_pairs(writing, pair)
            self._linked.set_rows(writing, [(a, b, f"{a}-{b}")])
            self._write_state(writing)

        with self._restored_on_error():
            if self._learner.schema is None:
                self._learner.set_schema(schema_of(self._feature_names(records)))
            self._write_offers(pair, known, write)

    @locked
    def contradictions(self) -> list[Contradiction]:
        """Find answers that contradict others, directly or because matches are transitive.

        Returns
        -------
        list of Contradiction
            Each with the answers that it contradicts; ``left``, ``right`` and ``because`` have ids.
        """
        self._follow()
        found = self._known().contradictions
        wanted = {
            end for c in found for a, b, _ in [(c.left, c.right, c.answer), *c.because] for end in (a, b)
        }
        names: dict[int, Any] = {number: given for number, (given, _) in self._linked.records(wanted).items()}
        return [
            Contradiction(
                names[c.left], names[c.right], c.answer, [(names[a], names[b], s) for a, b, s in c.because]
            )
            for c in found
        ]

    def _numbers(self, ids: list[Id]) -> list[int]:
        found = self._linked.numbers_of(ids)
        if unknown := [given for given in ids if given not in found]:
            raise InputError(f"No record with the id {some(unknown)} in the store.", code="unknown_id")
        return [found[given] for given in ids]


def _ends(row: str) -> tuple[int, int]:
    left, _, right = row.partition("-")
    return int(left), int(right)
