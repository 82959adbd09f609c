"""A synthetic stream of card payments with few frauds and concept drift.

It has the difficulties of a real stream: a rare class, a nonlinear boundary, label noise and concept drift.
The true labels are included, so that a learner can be evaluated on labels that it never saw.
"""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _atomic
from ._draws import RandomState, checked_inputs, count, draw_signs, mislabel, number

__all__ = ["FraudStream", "make_fraud_stream"]

NUMBERS = ("amount", "hour", "card_age", "count_24h", "gap_minutes")
COUNTRIES = ("AT", "BR", "DE", "FR", "GB", "US")
MERCHANTS = ("clothing", "electronics", "fuel", "games", "grocery", "travel")
_START = 1_735_689_600  # 2025-01-01, in seconds since 1970
_SECONDS = 30  # from one payment to the next


class _Profile(NamedTuple):
    """A type of payment: mean and standard deviation of each number, or of its logarithm."""

    weight: float
    log_amount: tuple[float, float]
    hour: tuple[float, float]  # wrapped at midnight
    log_age: tuple[float, float]  # of the card, in days
    in_a_day: float  # mean number of payments in the previous 24 hours
    log_gap: tuple[float, float]  # minutes since the previous payment
    countries: tuple[float, ...]
    merchants: tuple[float, ...]


_AT_HOME, _ABROAD = (0.30, 0.05, 0.30, 0.15, 0.15, 0.05), (0.10, 0.20, 0.15, 0.15, 0.15, 0.25)
_SHOPS, _GOODS = (0.20, 0.10, 0.20, 0.10, 0.30, 0.10), (0.10, 0.30, 0.05, 0.30, 0.10, 0.15)

# In amount and count, legitimate payments surround the early frauds, so no hyperplane separates them. The
# late frauds are made late in the evening, with newer cards.
_LEGITIMATE = (
    _Profile(0.50, (3.2, 0.30), (14.0, 3.5), (6.7, 0.5), 2.0, (5.2, 0.5), _AT_HOME, _SHOPS),
    _Profile(0.15, (5.1, 0.20), (13.0, 3.0), (6.7, 0.5), 20.0, (4.2, 0.5), _ABROAD, _GOODS),
    _Profile(0.15, (5.1, 0.20), (14.0, 3.0), (6.7, 0.5), 2.0, (5.2, 0.5), _AT_HOME, _GOODS),
    _Profile(0.10, (3.2, 0.30), (14.0, 3.5), (6.7, 0.5), 20.0, (4.2, 0.5), _ABROAD, _SHOPS),
    _Profile(0.10, (3.2, 0.30), (2.0, 1.5), (6.7, 0.5), 2.0, (5.2, 0.5), _AT_HOME, _GOODS),
)
_EARLY = (_Profile(1.00, (4.3, 0.15), (14.0, 2.0), (6.5, 0.4), 9.0, (4.6, 0.4), _ABROAD, _GOODS),)
_LATE = (_Profile(1.00, (4.6, 0.15), (22.3, 0.7), (5.9, 0.3), 8.0, (4.6, 0.4), _ABROAD, _GOODS),)


@dataclass(frozen=True, eq=False, repr=False)
class FraudStream:
    """Payments in chronological order, from `make_fraud_stream`.

    Attributes
    ----------
    table : dict of str to ndarray
        The columns by name, as `write_csv` writes them. The last one, "is_fraud", has the answers.
    X : ndarray of shape (n_rows, n_features), float64
        The unscaled numbers, then one-hot columns of the country and the merchant category.
    feature_names : list of str
        Names of the columns of X.
    truth : ndarray of shape (n_rows,), int64
        The true labels: 1 for a fraud, 0 for a legitimate payment.
    answers : ndarray of shape (n_rows,), int64
        The labels that an oracle gives: the true ones with label noise.
    ids : ndarray of str
        Ids of the rows.
    time : ndarray of shape (n_rows,), float64
        Time of the payment, in seconds since 1970.
    drift_row : int
        First row after the concept drift; the number of rows if there is none.
    """

    table: dict[str, NDArray[np.generic]]
    X: NDArray[np.float64]
    feature_names: list[str]
    truth: NDArray[np.int64]
    answers: NDArray[np.int64]
    ids: NDArray[np.str_]
    time: NDArray[np.float64]
    drift_row: int

    def __len__(self) -> int:
        return len(self.truth)

    def __repr__(self) -> str:
        frauds = int(self.truth.sum())
        return f"FraudStream({len(self):,} payments, {frauds:,} frauds, drift at row {self.drift_row:,})"

    def write_csv(self, path: str | os.PathLike[str], *, truth: bool = False) -> None:
        """Write the table as CSV with a header. An existing file is replaced atomically.

        Parameters
        ----------
        path : str or path-like
            The file.
        truth : bool, default=False
            Whether to add the column "truth". Declare it as "ignore" in the schema of a learner.
        """
        columns = self.table | ({"truth": self.truth} if truth else {})
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))

        def put(file: BinaryIO) -> None:
            file.write(text.getvalue().encode())

        _atomic.replace(os.fspath(path), put)


def make_fraud_stream(
    n_samples: int = 20_000,
    *,
    fraud_fraction: float = 0.05,
    label_noise: float = 0.1,
    drift_at: float | None = 0.5,
    random_state: RandomState = None,
) -> FraudStream:
    """Draw a stream of card payments with frauds: two classes, five numbers and two categorical features.

    Legitimate payments have small or large amounts, and few or many payments per day. Early frauds lie in
    between in both features, so legitimate payments surround them and no hyperplane separates them. At
    `drift_at` the frauds change abruptly: late in the evening, with newer cards and somewhat larger amounts.
    A model of the early frauds misses most of the late ones. Legitimate payments do not change.

    Parameters
    ----------
    n_samples : int, default=20_000
        Number of payments, one every 30 seconds.
    fraud_fraction : float, default=0.05
        Fraction of frauds: exactly ``round(fraud_fraction * n_samples)`` rows at random positions, but at
        least one.
    label_noise : float, default=0.1
        Fraction of wrong answers: exactly ``round(label_noise * n_samples)`` rows at random positions. The
        true labels are returned as well.
    drift_at : float, default=0.5
        Fraction of the rows before the concept drift; None means no drift.
    random_state : int, Generator, RandomState instance or None, default=None
        Random generator. The same seed gives the same payments for every `label_noise`.

    Returns
    -------
    FraudStream
        The payments, the true labels and the answers.

    Notes
    -----
    With 5 % frauds and 10 % label noise, an oracle labels 100 random payments like this: 9.5 legitimate ones
    as frauds, and 4.5 of the 5 frauds correctly. Two of three rows labeled as frauds are then false alarms.
    If half of the queried rows are frauds, it is one of ten.

    Examples
    --------
    >>> from everlearn.datasets import make_fraud_stream
    >>> stream = make_fraud_stream(2000, random_state=0)
    >>> stream
    FraudStream(2,000 payments, 100 frauds, drift at row 1,000)
    >>> list(stream.table)[:5]
    ['id', 'time', 'amount', 'hour', 'card_age']
    >>> stream.X.shape, int((stream.answers != stream.truth).sum())
    ((2000, 17), 200)
    """
    n, rng, _ = checked_inputs(count("n_samples", n_samples, 2), random_state)
    fraction = number(
        "fraud_fraction",
        fraud_fraction,
        np.nextafter(0, 1),
        1 - 1e-9,
        "a fraction between 0 and 1, both excluded",
    )
    before_drift = (
        1.0
        if drift_at is None
        else number("drift_at", drift_at, 0.0, 1.0, "a fraction between 0 and 1, or None")
    )
    drift_row = round(before_drift * n)
    truth = (draw_signs(rng, n, 1 / fraction - 1) == 1).astype(np.int64)
    late = np.arange(n) >= drift_row
    profiles = [*_LEGITIMATE, *_EARLY, *_LATE]
    which = np.zeros(n, dtype=np.int64)
    first = 0
    for group, rows in (
        (_LEGITIMATE, truth == 0),
        (_EARLY, (truth == 1) & ~late),
        (_LATE, (truth == 1) & late),
    ):
        drawn = rng.choice(len(group), size=n, p=[profile.weight for profile in group])
        which[rows] = first + drawn[rows]
        first += len(group)
    numbers, categories = _draw(rng, profiles, which)
    answers = mislabel(rng, truth, label_noise, [0, 1])
    ids = np.array([f"p{row:07d}" for row in range(n)])
    time = _START + _SECONDS * np.arange(n, dtype=np.float64)
    when = [datetime.fromtimestamp(t, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for t in time.tolist()]
    table: dict[str, NDArray[np.generic]] = {"id": ids, "time": np.array(when)}
    table |= dict(zip(NUMBERS, numbers, strict=True))
    parts, names = [np.column_stack([column.astype(np.float64) for column in numbers])], list(NUMBERS)
    for name, words, drawn in (("country", COUNTRIES, categories[0]), ("merchant", MERCHANTS, categories[1])):
        table[name] = np.array(words)[drawn]
        parts.append(np.eye(len(words))[drawn])
        names += [f"{name}={word}" for word in words]
    table["is_fraud"] = answers
    return FraudStream(table, np.hstack(parts), names, truth, answers, ids, time, drift_row)


def _draw(
    rng: np.random.Generator, profiles: list[_Profile], which: NDArray[np.int64]
) -> tuple[list[NDArray[np.generic]], list[NDArray[np.int64]]]:
    """Draw the numbers of each row, rounded to realistic precision, and the indices of its two categories."""
    n = len(which)

    def normal(field: str) -> NDArray[np.float64]:
        mean, spread = np.array([getattr(profile, field) for profile in profiles])[which].T
        drawn: NDArray[np.float64] = mean + spread * rng.standard_normal(n)
        return drawn

    def category(field: str) -> NDArray[np.int64]:
        bounds = np.cumsum([getattr(profile, field) for profile in profiles], axis=1)[which]
        places: NDArray[np.int64] = np.minimum(
            (rng.random((n, 1)) >= bounds).sum(axis=1), bounds.shape[1] - 1
        )
        return places

    numbers: list[NDArray[np.generic]] = [
        np.round(np.exp(normal("log_amount")), 2),
        np.floor(normal("hour") % 24).astype(np.int64),
        np.round(np.exp(normal("log_age"))).astype(np.int64),
        rng.poisson(np.array([profile.in_a_day for profile in profiles])[which]),
        np.round(np.exp(normal("log_gap")), 1),
    ]
    return numbers, [category("countries"), category("merchants")]
