"""The claims: read from TOML files, checked as they are read."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "claims"


@dataclass(frozen=True)
class Claim:
    """A claim that was, or could be, measured.

    Attributes
    ----------
    id, document, places : str
        Its name, the document, and the tables and figures that show it.
    claim, protocol, cost : str
        What is said, in one sentence; how it is measured here; what a full run costs.
    parts : list of str
        The parts of benchmarks whose results show it, as `table-part`, with the options that they ran with.
    data, missing : list of str
        Data sets of EVERLEARN_DATA that it needs, and those that we do not have, with where to get them.
    partial : str
        What of the claim is not measured; its verdict is then "in part" at best.
    unmeasurable : str
        Why the claim cannot be measured here; `parts` then measure something else in its place.
    """

    id: str
    document: str
    places: list[str]
    claim: str
    protocol: str = ""
    cost: str = ""
    parts: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    partial: str = ""
    unmeasurable: str = ""

    @property
    def sources(self) -> list[str]:
        """The names of the results."""
        return [part.split()[0] for part in self.parts]

    def commands(self) -> list[tuple[str, list[str]]]:
        """The tables to run, and their arguments."""
        found = []
        for entry in self.parts:
            name, *options = shlex.split(entry)
            table, _, part = name.partition("-")
            found.append((table, [*([part] if part else []), *options]))
        return found


@dataclass(frozen=True)
class Document:
    """A document: what it is, its claims, and the tables and figures that show no result."""

    key: str
    short: str
    title: str
    authors: str
    claims: tuple[Claim, ...]
    without_result: dict[str, str]


def _claim(entry: dict[str, Any], path: Path, document: str) -> Claim:
    known = {f.name for f in fields(Claim)}
    name = entry.get("id", "a claim without an id")
    if unknown := set(entry) - known:
        raise ValueError(f"{path.name}: {name} has unknown fields: {', '.join(sorted(unknown))}.")
    if wanted := {"id", "places", "claim"} - set(entry):
        raise ValueError(f"{path.name}: {name} lacks {', '.join(sorted(wanted))}.")
    found = Claim(document=document, **entry)
    if (found.parts or not found.unmeasurable) and not (found.parts and found.protocol and found.cost):
        raise ValueError(f"{path.name}: {name} needs parts, protocol and cost, or unmeasurable.")
    return found


def read(folder: Path = FOLDER) -> dict[str, Document]:
    """All documents by their keys. A document may be spread over several files."""
    heads: dict[str, dict[str, Any]] = {}
    claims: dict[str, list[Claim]] = {}
    without: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        key = data["document"]
        heads.setdefault(key, {}).update({k: data[k] for k in ("short", "title", "authors") if k in data})
        claims.setdefault(key, []).extend(_claim(entry, path, key) for entry in data.get("claim", []))
        without.setdefault(key, {}).update(data.get("without_result", {}))
    found = {
        key: Document(key, head["short"], head["title"], head["authors"], tuple(claims[key]), without[key])
        for key, head in heads.items()
    }
    _check_unique(found)
    return found


def _check_unique(documents: dict[str, Document]) -> None:
    ids = [claim.id for document in documents.values() for claim in document.claims]
    if twice := {name for name in ids if ids.count(name) > 1}:
        raise ValueError(f"Claims with the same id: {', '.join(sorted(twice))}.")
    for document in documents.values():
        places = [place for claim in document.claims for place in claim.places]
        if both := set(places) & set(document.without_result):
            raise ValueError(f"{document.key}: {', '.join(sorted(both))} with and without a result.")


@cache
def documents() -> dict[str, Document]:
    """The catalogue of this checkout."""
    return read()


def claims() -> dict[str, Claim]:
    """All claims by their ids."""
    return {claim.id: claim for document in documents().values() for claim in document.claims}
