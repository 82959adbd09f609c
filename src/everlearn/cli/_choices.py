"""What was typed, as what was meant: learners, parameters, kinds of fields, drift."""

import ast
from collections.abc import Sequence
from typing import Any

import typer

from .. import adaptive, auc, budget, svm
from .._base import constraints

_POLICIES = ("restart", "forget", "alarm")
_FIRST_CHOICE = {"scaling": "none"}  # a NeverEndingLearner scales rows itself


def learners() -> dict[str, Any]:
    """The learners that can take a stream, by their names."""
    found = {name: getattr(room, name) for room in (adaptive, svm, budget, auc) for name in room.__all__}
    return {
        name: cls
        for name, cls in sorted(found.items(), key=lambda entry: entry[0].lower())
        if hasattr(cls, "partial_fit") and hasattr(cls, "decision_function")
    }


def learner_names() -> list[str]:
    """Their names."""
    return list(learners())


def make_learner(name: str | None, params: Sequence[str]) -> Any:
    """The learner of this name with these parameters; None if neither was said, for what a store has."""
    if name is None and not params:
        return None
    by_name = {known.lower(): cls for known, cls in learners().items()}
    cls = by_name.get((name or "AdaptiveSVM").lower())
    if cls is None:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(learner_names())}.", param_hint="--learner")
    given = {} if name else dict(_FIRST_CHOICE)
    known = cls().get_params()
    for key, text in pairs(params, "--param", "C=10").items():
        if key not in known:
            names = ", ".join(known)
            raise typer.BadParameter(f"{cls.__name__} has no {key!r}, but {names}.", param_hint="--param")
        given[key] = value_of(text)
    learner = cls(**given)
    try:
        constraints.check(learner)  # a store made with it could never learn anything
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--param") from None
    return learner


def value_of(text: str) -> Any:
    """A number, True, False or None where it reads as one, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def pairs(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Names and values from "name=value"; the name ends at the last "=" that leaves a value."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.rpartition("=") if option == "--kind" else text.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(
                f"{text!r} must be a name and a value, such as {example}.", param_hint=option
            )
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice.", param_hint=option)
        found[name] = value
    return found


def make_drift(text: str | None) -> Any:
    """A detector from "name" or "name:policy"."""
    if text is None:
        return None
    from ..evaluate.drift import DETECTORS, DriftDetector

    name, _, policy = text.partition(":")
    if name not in DETECTORS or (policy or "restart") not in _POLICIES:
        raise typer.BadParameter(
            f"{text!r} must be one of {', '.join(DETECTORS)}, or with a policy such as adwin:alarm "
            f"({', '.join(_POLICIES)}).",
            param_hint="--drift",
        )
    return DriftDetector(name, policy=policy or "restart")
