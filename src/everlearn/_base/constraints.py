"""Constraints on constructor parameters: one table a class, one shape of message.

A class lists its constraints in ``_constraints``; `check` reads the table when a fit begins, because a
constructor only stores what it is given.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any


@dataclass(frozen=True)
class Constraint:
    """A test and the words that say what it accepts."""

    accepts: str
    test: Callable[[Any], bool]

    def __or__(self, other: "Constraint") -> "Constraint":
        return Constraint(
            f"{self.accepts} or {other.accepts}", lambda value: self.test(value) or other.test(value)
        )


def is_real(value: Any) -> bool:
    number = type(value) in (float, int) or (isinstance(value, Real) and not isinstance(value, bool))
    return bool(number and value == value)


def is_integer(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


_MOST = 2**31 - 1

POSITIVE = Constraint("a finite number above 0", lambda value: is_real(value) and 0 < value < float("inf"))
MEGABYTES = Constraint(
    "a number of megabytes above 0, at most 2**40", lambda value: is_real(value) and 0 < value <= 2**40
)
NOT_NEGATIVE = Constraint(
    "a finite number, 0 or above", lambda value: is_real(value) and 0 <= value < float("inf")
)
# An untrained model scores every row 0: a ramp that ends above 0 would exclude all of them.
RAMP_END = Constraint("a number, 0 or below, or -inf", lambda value: is_real(value) and value <= 0)
FINITE = Constraint("a finite number", lambda value: is_real(value) and abs(value) < float("inf"))
FRACTION = Constraint("a number from 0 to 1", lambda value: is_real(value) and 0 <= value <= 1)
BOOLEAN = Constraint("True or False", lambda value: isinstance(value, bool) or type(value).__name__ == "bool")
NOT_ZERO_INTEGER = Constraint(
    f"an integer other than 0, at most {_MOST}",
    lambda value: is_integer(value) and value != 0 and abs(value) <= _MOST,
)
NONE = Constraint("None", lambda value: value is None)
CALLABLE = Constraint("a callable", callable)
MAPPING = Constraint("a dict", lambda value: isinstance(value, Mapping))


def one_of(*words: str) -> Constraint:
    """Accept one of some words."""
    return Constraint(
        "one of " + ", ".join(repr(word) for word in words),
        lambda value: isinstance(value, str) and value in words,
    )


def integer_from(least: int) -> Constraint:
    """Accept an integer, at least ``least``, that fits in 31 bits."""
    return Constraint(
        f"an integer from {least} to {_MOST}", lambda value: is_integer(value) and least <= value <= _MOST
    )


def check(estimator: Any) -> None:
    """Raise for the first parameter of an estimator that breaks its constraint.

    The error is a `ValueError`, as scikit-learn's is for a bad parameter.
    """
    for name, constraint in estimator._constraints.items():
        value = getattr(estimator, name)
        if not constraint.test(value):
            raise ValueError(
                f"The parameter {name!r} of {type(estimator).__name__} must be {constraint.accepts}, "
                f"got {value!r}."
            )
