"""Errors carry what went wrong, a code for programs, and a remedy."""

import pickle

import pytest

from everlearn import errors

KINDS = [
    errors.EverlearnError,
    errors.CoreError,
    errors.FileFormatError,
    errors.InputError,
    errors.StoreError,
]


@pytest.mark.parametrize("kind", KINDS)
def test_problem_and_remedy_make_the_message(kind):
    error = kind("It is full.", code="full", remedy="Empty it.")
    assert (str(error), error.problem, error.code, error.remedy) == (
        "It is full. Empty it.",
        "It is full.",
        "full",
        "Empty it.",
    )
    plain = kind("It is full.")
    assert (str(plain), plain.code, plain.remedy) == ("It is full.", None, None)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_another_process(kind):
    error = pickle.loads(pickle.dumps(kind("It is full.", code="full", remedy="Empty it.")))
    assert type(error) is kind
    assert (str(error), error.problem, error.code) == ("It is full. Empty it.", "It is full.", "full")


def test_a_mistake_of_the_caller_is_a_value_error():
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.FileFormatError, ValueError)
