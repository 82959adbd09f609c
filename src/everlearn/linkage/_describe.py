"""Records, blocking and features as plain data, for files and stores, and back."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .._base import checked
from . import _keys
from ._word_pairs import WordPairs
from .blocking import Blocking
from .features import PairFeatures
from .records import Records

_IDS = "\0"  # the name of the column of ids
_KEYS: dict[str, type[_keys.Key]] = {
    cls.__name__: cls
    for cls in (
        *(_keys.Exact, _keys.Prefix, _keys.Phonetic, _keys.Value, _keys.Tokens, _keys.MinHash),
        *(_keys.AuthorName, WordPairs),
    )
}


def records_state(records: Records) -> dict[str, Any]:
    """Ids, schema and cells of records."""
    if wrong := [i for i in records.ids if type(i) not in (int, str)]:
        raise TypeError(f"Only records with ids that are int or str can be saved, got {wrong[0]!r}.")
    cells = {name: list(records.distinct(name)) for name in records.schema}
    return {"ids": list(records.ids), "schema": dict(records.schema), "cells": cells}


def records_from_state(state: Mapping[str, Any]) -> Records:
    """The records that `records_state` described."""
    ids, schema = checked.items("ids", state["ids"]), checked.table("schema", state["schema"])
    columns = {}
    for name in schema:
        values, codes = checked.items(name, state["cells"][name], 2)
        if not all(type(value) is str for value in checked.items(name, values)):
            raise ValueError(f"the values of {name!r} are no text")
        codes = checked.integers(name, codes, (len(ids),), 0, max(len(values) - 1, 0))
        columns[name] = [values[code] for code in codes]
    return made_records(ids, columns, schema)


def made_records(ids: list[Any], columns: Mapping[str, list[str]], schema: Mapping[str, str]) -> Records:
    """Records with these ids and cells."""
    return Records({**columns, _IDS: ids}, schema, id=_IDS)


def blocking_state(blocking: Blocking) -> dict[str, Any]:
    """The keys and the limits of a blocking."""
    keys = []
    for key in blocking.keys:
        if _KEYS.get(type(key).__name__) is not type(key):
            raise TypeError(f"A blocking by {key!r} cannot be saved: use the keys of everlearn.linkage.")
        keys.append([type(key).__name__, {field.name: getattr(key, field.name) for field in fields(key)}])
    return {"keys": keys, **_arguments(blocking)}


def blocking_from_state(state: Mapping[str, Any]) -> Blocking:
    """The blocking that `blocking_state` described."""
    given = dict(state)
    keys = [_KEYS[name](**params) for name, params in given.pop("keys")]
    return Blocking(*keys, **given)


def features_state(features: PairFeatures) -> dict[str, Any]:
    """The parameters of pair features, without what was fitted."""
    return _arguments(features)


def features_from_state(state: Mapping[str, Any]) -> PairFeatures:
    """The features that `features_state` described, not fitted."""
    return PairFeatures(**state)


def _arguments(made: Any) -> dict[str, Any]:
    """The arguments of a constructor that keeps each under its name."""
    parameters = inspect.signature(type(made)).parameters.values()
    named = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return {name: getattr(made, name) for name in named}
