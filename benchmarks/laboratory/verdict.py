"""How a verdict comes about: a claim is divided into checks, and each check holds or does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pkgutil import iter_modules

from .catalogue import Claim
from .results import Results


class Verdict(str, Enum):
    """What measurements say of a claim."""

    REPRODUCED = "reproduced"
    IN_PART = "in part"
    REFUTED = "refuted"
    UNMEASURABLE = "not measurable here"
    OPEN = "not measured yet"


@dataclass(frozen=True)
class Check:
    """A condition on the results, with the figures in words; `nearly`: it fails, but on few of many sets."""

    text: str
    holds: bool
    nearly: bool = False


@dataclass(frozen=True)
class Finding:
    """A claim, its verdict and the checks."""

    claim: Claim
    verdict: Verdict
    checks: tuple[Check, ...]

    @property
    def reason(self) -> str:
        """What was not measured, and why."""
        return self.claim.unmeasurable or self.claim.partial


Checks = Callable[[Results], Sequence[Check]]
_CHECKS: dict[str, Checks] = {}


def checks_of(*ids: str) -> Callable[[Checks], Checks]:
    """Register the function that checks these claims."""

    def register(function: Checks) -> Checks:
        for name in ids:
            if name in _CHECKS:
                raise ValueError(f"{name} has two functions that check it.")
            _CHECKS[name] = function
        return function

    return register


def registered() -> dict[str, Checks]:
    """The functions that check claims, by the ids of the claims."""
    package = import_module("benchmarks.laboratory.checks")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(_CHECKS)


def judge(claim: Claim, results: Results) -> Finding:
    """The verdict: reproduced if all checks hold and nothing is left out, refuted if none does."""
    there = bool(claim.parts) and all(results.has(part) for part in claim.sources)
    if not there:
        return Finding(claim, Verdict.UNMEASURABLE if claim.unmeasurable else Verdict.OPEN, ())
    checks = tuple(registered()[claim.id](results))
    if claim.unmeasurable:
        return Finding(claim, Verdict.UNMEASURABLE, checks)
    if not checks:
        raise ValueError(f"{claim.id} has no check.")
    if not any(check.holds or check.nearly for check in checks):
        return Finding(claim, Verdict.REFUTED, checks)
    whole = all(check.holds for check in checks) and not claim.partial
    return Finding(claim, Verdict.REPRODUCED if whole else Verdict.IN_PART, checks)
