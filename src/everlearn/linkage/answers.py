"""Answers about pairs: what follows from them by transitivity, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Contradiction", "PairAnswers", "contradictions"]


@dataclass(frozen=True)
class Contradiction:
    """An answer that cannot be true if the answers before it are.

    Attributes
    ----------
    left : int
        The first record of the pair.
    right : int
        The second record.
    answer : bool
        The answer: whether they match.
    because : list of tuple of (int, int, bool)
        Earlier answers from which the opposite follows: a chain of matches, with one "different" in it where
        the answer was a match.
    """

    left: int
    right: int
    answer: bool
    because: list[tuple[int, int, bool]]

    def __str__(self) -> str:
        chain = ", ".join(f"{a} {'=' if same else '≠'} {b}" for a, b, same in self.because)
        return f"{self.left} {'=' if self.answer else '≠'} {self.right} contradicts {chain}"


class PairAnswers:
    """Answers "same" and "different" about pairs of records, and their consequences.

    A match is an equivalence: records that a chain of matches connects are the same, and records of two such
    groups are different if any two of them are. An answer that contradicts earlier ones is kept in
    `contradictions` and has no consequences.

    Examples
    --------
    >>> from everlearn.linkage import PairAnswers
    >>> answers = PairAnswers()
    >>> answers.add(1, 2, True), answers.add(2, 3, True), answers.add(3, 4, False)
    (None, None, None)
    >>> answers.implied(1, 3), answers.implied(1, 4), answers.implied(4, 5)
    (True, False, None)
    >>> print(answers.add(1, 3, False))
    1 ≠ 3 contradicts 1 = 2, 2 = 3
    """

    def __init__(self) -> None:
        self.contradictions: list[Contradiction] = []
        self._parent: dict[int, int] = {}
        self._different: dict[
            int, dict[int, tuple[int, int]]
        ] = {}  # between groups, with a pair that says so
        self._matches: dict[int, list[int]] = {}

    def implied(self, left: int, right: int) -> bool | None:
        """Return what the answers say about a pair.

        Parameters
        ----------
        left, right : int
            The two records.

        Returns
        -------
        bool or None
            Whether they are the same; None if nothing follows.
        """
        a, b = self._root(left), self._root(right)
        if a == b:
            return True
        return False if b in self._different.get(a, ()) else None

    def group_of(self, record: int) -> int:
        """Return a record that stands for all that are the same.

        Parameters
        ----------
        record : int
            The record.

        Returns
        -------
        int
            The same one for all records that a chain of matches connects.
        """
        return self._root(record)

    def add(self, left: int, right: int, same: bool) -> Contradiction | None:
        """Take an answer.

        Parameters
        ----------
        left, right : int
            The two records.
        same : bool
            Whether they are the same.

        Returns
        -------
        Contradiction or None
            The contradiction, if there is one.
        """
        known = self.implied(left, right)
        if known is not None and known != bool(same):
            found = Contradiction(left, right, bool(same), self._why(left, right))
            self.contradictions.append(found)
            return found
        a, b = self._root(left), self._root(right)
        if not same:
            self._different.setdefault(a, {}).setdefault(b, (left, right))
            self._different.setdefault(b, {}).setdefault(a, (left, right))
        elif a != b:
            self._matches.setdefault(left, []).append(right)
            self._matches.setdefault(right, []).append(left)
            self._merge(a, b)
        return None

    def _merge(self, a: int, b: int) -> None:
        if len(self._different.get(a, ())) < len(self._different.get(b, ())):
            a, b = b, a
        self._parent[b] = a
        for other, pair in self._different.pop(b, {}).items():
            self._different[other].pop(b)
            self._different[other].setdefault(a, pair)
            self._different.setdefault(a, {}).setdefault(other, pair)

    def _root(self, record: int) -> int:
        while (above := self._parent.get(record, record)) != record:
            self._parent[record] = self._parent.get(above, above)
            record = above
        return record

    def _why(self, left: int, right: int) -> list[tuple[int, int, bool]]:
        """The answers from which it follows whether two records are the same."""
        a, b = self._root(left), self._root(right)
        if a == b:
            return self._chain(left, right)
        x, y = self._different[a][b]
        if self._root(x) != a:
            x, y = y, x
        return [*self._chain(left, x), (x, y, False), *self._chain(y, right)]

    def _chain(self, start: int, end: int) -> list[tuple[int, int, bool]]:
        """The matches that connect two records of a group: they are a tree, so there is one way."""
        came, queue = {start: start}, [start]
        while queue and end not in came:
            record = queue.pop()
            for near in self._matches.get(record, ()):
                if near not in came:
                    came[near] = record
                    queue.append(near)
        chain = []
        while end != start:
            chain.append((came[end], end, True))
            end = came[end]
        return chain[::-1]


def contradictions(pairs: Iterable[tuple[int, int]], same: Iterable[bool]) -> list[Contradiction]:
    """Find answers that contradict those before them, directly or by transitivity.

    Parameters
    ----------
    pairs : iterable of (int, int)
        The pairs.
    same : iterable of bool
        Whether each pair matches.

    Returns
    -------
    list of Contradiction
        Each with the answers that it contradicts.
    """
    answers = PairAnswers()
    # Matches first: what they connect does not depend on the order of the answers.
    told = sorted(zip(pairs, same, strict=True), key=lambda pair: not pair[1])
    for (left, right), matches in told:
        answers.add(left, right, bool(matches))
    return answers.contradictions
