"""Votes: who answered what, how well people agree, and how much weight each answer gets.

Agreement is Cohen's kappa for each pair of people, and Fleiss' kappa for all rows with two votes or more. It
is (p - e) / (1 - e), where p is the fraction of pairs of votes that agree, and e what it would be by chance.

Reliability is the probability that a person is right, by the one-coin model of Dawid and Skene: the label of
a row is unknown, a person gives it with probability r and any other with equal probability, and EM finds r. A
person with few shared rows has a reliability near 0.8 (a prior worth 5 votes). The weight of an answer is the
log-odds log((K - 1) r / (1 - r)) of K classes, which is optimal for independent people, divided by the
log-odds of 0.8.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from threading import RLock
from typing import Any

from .._base.lock import locked
from ..evaluate.intervals import wilson
from ..store.lookup import Id, id_key

Ballots = dict[Id, dict[str, Any]]  # for each row, the label that each person gave

_PRIOR_RIGHT, _PRIOR_WRONG = 4.0, 1.0
_PRIOR = _PRIOR_RIGHT / (_PRIOR_RIGHT + _PRIOR_WRONG)
_LEAST_SHARED = 20  # rows with several answers that say how often answers are right
_LEAST_ABOVE_CHANCE = 0.1
_LEAST, _MOST = 0.51, 0.99  # bounds of a reliability: a weight is positive and finite
_ROUNDS = 20
LATER = 0.999  # factor of the weight of a vote for each earlier one: in a tie, the first answer is learned


@lru_cache(maxsize=100_000)
def is_shared(row: Id, fraction: float) -> bool:
    """Whether several people are asked about a row: by a hash of its id, the same after a restart."""
    digest = hashlib.blake2b(id_key(row).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < fraction * 2**64


def cohen(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Cohen's kappa of two people, from the two labels of each row that both have labeled."""
    agree = sum(x == y for x, y in pairs) / len(pairs)
    first, second = Counter(x for x, _ in pairs), Counter(y for _, y in pairs)
    chance = sum(first[label] * second[label] for label in first) / len(pairs) ** 2
    return _kappa(agree, chance)


def fleiss(ballots: Iterable[Mapping[str, Any]]) -> float | None:
    """Fleiss' kappa over the rows with two votes or more, which may have different numbers of votes."""
    shared = [Counter(votes.values()) for votes in ballots if len(votes) > 1]
    if not shared:
        return None
    agree = 0.0
    totals: Counter[Any] = Counter()
    for counts in shared:
        n = counts.total()
        agree += sum(count * (count - 1) for count in counts.values()) / (n * (n - 1))
        totals.update(counts)
    chance = sum((count / totals.total()) ** 2 for count in totals.values())
    return _kappa(agree / len(shared), chance)


def _kappa(agree: float, chance: float) -> float:
    return 1.0 if chance >= 1 else (agree - chance) / (1 - chance)


def reliabilities(ballots: Iterable[Mapping[str, Any]], n_classes: int) -> dict[str, float]:
    """The reliability of each person who has a vote for a row with two votes or more."""
    shared = [votes for votes in ballots if len(votes) > 1]
    others = max(1, n_classes - 1)
    right = dict.fromkeys(sorted({person for votes in shared for person in votes}), _PRIOR)
    for _ in range(_ROUNDS):
        agreed = dict.fromkeys(right, _PRIOR_RIGHT)
        given = dict.fromkeys(right, _PRIOR_RIGHT + _PRIOR_WRONG)
        for votes in shared:
            shares = _posterior(votes, right, others)
            for person, label in votes.items():
                agreed[person] += shares[label]
                given[person] += 1
        new = {person: min(max(agreed[person] / given[person], _LEAST), _MOST) for person in right}
        done = max((abs(new[person] - right[person]) for person in right), default=0.0) < 1e-6
        right = new
        if done:
            break
    return right


def _posterior(votes: Mapping[str, Any], right: Mapping[str, float], others: int) -> dict[Any, float]:
    """The probability of each label that somebody gave, and of all other labels together."""
    logs = {
        label: sum(
            math.log(right[person] if given == label else (1 - right[person]) / others)
            for person, given in votes.items()
        )
        for label in votes.values()
    }
    rest = others + 1 - len(logs)
    none = sum(math.log((1 - right[person]) / others) for person in votes)
    most = max([*logs.values(), none])
    total = sum(math.exp(value - most) for value in logs.values()) + max(0, rest) * math.exp(none - most)
    return {label: math.exp(value - most) / total for label, value in logs.items()}


def answer_reliability(
    shared: Sequence[Mapping[str, Any]], n_classes: int
) -> tuple[float, float, float] | None:
    """The probability that an answer is right, from how often two answers for a row agree, with its interval.

    Two answers that are right with probability q agree with probability q^2 + (1 - q)^2 / (K - 1), if they do
    not depend on each other and all wrong labels are equally likely. None if there are too few rows, or if
    answers agree hardly more often than by chance.
    """
    rows = [Counter(votes.values()) for votes in shared if len(votes) > 1]
    if len(rows) < _LEAST_SHARED:
        return None
    k = max(2, n_classes)
    agreed = [
        sum(count * (count - 1) for count in counts.values()) / (counts.total() * (counts.total() - 1))
        for counts in rows
    ]
    agree = sum(agreed) / len(agreed)
    low, high = (float(bound) for bound in wilson(agree, len(agreed)))
    if low <= 1 / k + _LEAST_ABOVE_CHANCE:
        return None

    def right(agree: float) -> float:  # the larger root of k q^2 - 2 q + 1 = (k - 1) agree
        return (1 + math.sqrt(max(0.0, (k - 1) * (k * agree - 1)))) / k

    return right(agree), right(low), right(high)


def weight_of(reliability: float, n_classes: int) -> float:
    """The weight of an answer, rounded: 1 for a person about whom nothing is known."""
    others = max(1, n_classes - 1)

    def log_odds(share: float) -> float:
        return math.log(others * share / (1 - share))

    return max(0.01, round(log_odds(min(max(reliability, _LEAST), _MOST)) / log_odds(_PRIOR), 2))


class Votes:
    """The answers that count now, by row and by person; thread-safe.

    Attributes
    ----------
    ballots : dict
        For each row, the labels that people gave.
    n_answers : Counter
        The number of answers of each person that count, with those that skipped or were unsure.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self.ballots: Ballots = {}
        self.others: dict[Id, dict[str, str]] = {}  # "skip" or "unsure", by row and person
        self._alone: dict[tuple[str, type, Any], dict[str, Any]] = {}  # one vote, for all rows that have it
        self.n_answers: Counter[str] = Counter()
        self.last_answer: dict[str, float] = {}
        self._split: set[Id] = set()  # rows with different votes
        self._shared: dict[Id, None] = {}  # rows with two votes or more
        self._few: dict[Id, None] = {}  # labeled rows with fewer votes than are wanted
        self._answers, self._fraction = 1, 0.0
        self._right: dict[str, float] | None = None  # reliabilities, and how many shared rows changed since
        self._n_changed = 0
        self._agreement: dict[str, Any] | None = None

    @locked
    def give(self, row: Id, by: str, kind: str, label: Any, time: float) -> None:
        """Note an answer, which replaces an earlier one of the same person for the row."""
        self.take_back(row, by)
        if kind == "label":
            self._set(self.ballots, row, {**self.ballots.get(row, {}), by: label})
        else:
            self._set(self.others, row, {**self.others.get(row, {}), by: kind})
        self.n_answers[by] += 1
        self.last_answer[by] = max(time, self.last_answer.get(by, 0.0))
        self._note(row)

    @locked
    def take_back(self, row: Id, by: str | None) -> None:
        """Note that an answer, or all answers for a row, were withdrawn."""
        for table in (self.ballots, self.others):
            votes: dict[str, Any] = table.get(row, {})
            gone = [person for person in votes if by in (None, person)]
            if gone:
                self.n_answers.subtract(gone)
                self._set(table, row, {person: votes[person] for person in votes if person not in gone})
        self._note(row)

    @locked
    def counts(self) -> tuple[dict[str, int], dict[str, float]]:
        """The number of answers of each person, and the time of the last one."""
        return dict(self.n_answers), dict(self.last_answer)

    @locked
    def labels_for(self, row: Id) -> dict[str, Any]:
        """The labels that people gave to a row."""
        return dict(self.ballots.get(row, {}))

    @locked
    def answered(self, row: Id, by: str) -> str | None:
        """The kind of the answer of a person for a row; None without one."""
        if by in self.ballots.get(row, {}):
            return "label"
        return self.others.get(row, {}).get(by)

    @locked
    def want(self, answers: int, fraction: float) -> None:
        """Set how many answers are wanted, and for which fraction of rows; one for all others."""
        self._answers, self._fraction = answers, fraction
        self._few = {row: None for row, votes in self.ballots.items() if len(votes) < self.wanted(row)}

    def wanted(self, row: Id) -> int:
        """The number of answers that are wanted for a row."""
        return self._answers if self._answers > 1 and is_shared(row, self._fraction) else 1

    @locked
    def incomplete(self) -> list[Id]:
        """The labeled rows with fewer votes than are wanted, in the order of their first votes."""
        return list(self._few)

    @locked
    def undecided(self) -> list[Id]:
        """The rows with different votes, none of which has more than half, in a stable order."""
        return sorted(
            (row for row in self._split if not _has_majority(self.ballots[row].values())), key=id_key
        )

    @locked
    def shared(self) -> list[dict[str, Any]]:
        """The votes of the rows that have two or more."""
        return [self.ballots[row] for row in self._shared]

    @locked
    def weight(self, by: str, row: Id, n_classes: int) -> float:
        """The weight of an answer of a person for a row."""
        right = self.reliabilities(n_classes).get(by)
        earlier = sum(person != by for person in self.ballots.get(row, {}))
        return (1.0 if right is None else weight_of(right, n_classes)) * LATER**earlier

    @locked
    def reliabilities(self, n_classes: int) -> dict[str, float]:
        """The reliability of each person with shared rows; computed anew when a twentieth of them changed."""
        if self._right is None or self._n_changed > len(self._shared) // 20:
            self._right, self._n_changed = reliabilities(self.shared(), n_classes), 0
        return self._right

    @locked
    def agreement(self) -> dict[str, Any]:
        """Cohen's kappa of each pair, Fleiss' kappa of all, and the number of rows that they come from."""
        if self._agreement is None:
            pairs: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
            for row in self._shared:
                votes = self.ballots[row]
                for a, b in combinations(sorted(votes), 2):
                    pairs.setdefault((a, b), []).append((votes[a], votes[b]))
            found = {f"{a},{b}": cohen(pairs[a, b]) for a, b in sorted(pairs)}
            self._agreement = {"cohen": found, "fleiss": fleiss(self.shared()), "n": len(self._shared)}
        return dict(self._agreement)

    @locked
    def reliability(self, n_classes: int) -> tuple[float, float, float] | None:
        """The probability that an answer is right, with its interval; see `answer_reliability`."""
        return answer_reliability(self.shared(), n_classes)

    def _set(self, table: dict[Id, dict[str, Any]], row: Id, votes: dict[str, Any]) -> None:
        """Set the votes for a row; they are never changed, so that rows with one vote can share them."""
        if len(votes) > 1:
            table[row] = votes
        elif votes:
            ((person, value),) = votes.items()
            table[row] = self._alone.setdefault((person, type(value), value), votes)
        else:
            table.pop(row, None)

    def _note(self, row: Id) -> None:
        votes = self.ballots.get(row, {})
        if len(votes) > 1 or row in self._shared:
            self._n_changed += 1
            self._agreement = None
        if len(votes) > 1:
            self._shared[row] = None
        else:
            self._shared.pop(row, None)
        if 0 < len(votes) < self.wanted(row):
            self._few[row] = None
        else:
            self._few.pop(row, None)
        if len(set(votes.values())) > 1:
            self._split.add(row)
        else:
            self._split.discard(row)


def _has_majority(labels: Iterable[Any]) -> bool:
    counts = Counter(labels)
    return 2 * max(counts.values()) > counts.total()
