"""Parsing of option values: learners, parameters, kinds of fields, drift detectors."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from .. import adaptive, auc, budget, svm
from .._base import constraints

_POLICIES = ("restart", "forget", "alarm")
_DEFAULT_PARAMETERS = {"scaling": "none"}  # a NeverEndingLearner scales rows itself


def learners() -> dict[str, Any]:
    """The learners for streams, by name."""
    found = {name: getattr(room, name) for room in (adaptive, svm, budget, auc) for name in room.__all__}
    return {
        name: cls
        for name, cls in sorted(found.items(), key=lambda entry: entry[0].lower())
        if hasattr(cls, "partial_fit") and hasattr(cls, "decision_function")
    }


def make_learner(name: str | None, params: Sequence[str]) -> Any:
    """The learner with this name and these parameters; None if neither is given: that of the store."""
    if name is None and not params:
        return None
    by_name = {known.lower(): cls for known, cls in learners().items()}
    cls = by_name.get((name or "AdaptiveSVM").lower())
    if cls is None:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(learners())}.", param_hint="--learner")
    given = {} if name else dict(_DEFAULT_PARAMETERS)
    known = cls().get_params()
    for key, text in parse_pairs(params, "--param", "C=10").items():
        if key not in known:
            names = ", ".join(known)
            raise typer.BadParameter(
                f"{cls.__name__} has no parameter {key!r}; choose from {names}.", param_hint="--param"
            )
        given[key] = parse_value(text)
    learner = cls(**given)
    try:
        constraints.check(learner)  # before a store is created with it
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--param") from None
    return learner


def parse_value(text: str) -> Any:
    """A Python literal, such as a number, True or None; otherwise the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse_pairs(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Names and values from "name=value". The name in a --kind may contain "="."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.rpartition("=") if option == "--kind" else text.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"{text!r} must have the form {example}.", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice.", param_hint=option)
        found[name] = value
    return found


def read_ids(path: Path | None) -> list[str]:
    """The ids in a file, one per line."""
    if path is None:
        return []
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\r\n") for line in file if line.strip()]


def make_drift(text: str | None) -> Any:
    """A drift detector from "name" or "name:policy"."""
    if text is None:
        return None
    from ..evaluate.drift import DETECTORS, DriftDetector

    name, _, policy = text.partition(":")
    if name not in DETECTORS or (policy or "restart") not in _POLICIES:
        raise typer.BadParameter(
            f"{text!r} must be one of {', '.join(DETECTORS)}, optionally with a policy "
            f"({', '.join(_POLICIES)}) such as adwin:alarm.",
            param_hint="--drift",
        )
    return DriftDetector(name, policy=policy or "restart")
