"""What all shards of a folder share: how many they are, and what the first process decides for all."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StoreError
from ..store.events import Ints

SHARDS_FILE = "shards.json"
_VERSION = 1


def is_sharded(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a sharded learner.

    Parameters
    ----------
    path : str or path-like
        The path.

    Returns
    -------
    bool
        Whether it is a folder with the file "shards.json".
    """
    return os.path.isfile(os.path.join(os.fspath(path), SHARDS_FILE))


def shard_of(keys: Sequence[Any], n_shards: int) -> Ints:
    """The shard of each key: a hash that is the same on every machine."""
    numbers = {key: _hash(key) % n_shards for key in dict.fromkeys(keys)}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _hash(key: Any) -> int:
    text = str(key).encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


class SharedFolder:
    """The folder of a sharded learner.

    Parameters
    ----------
    path : str or path-like
        The folder.
    n_shards : int or None
        The number of shards of a new folder; None for an existing one.
    create : bool
        Whether to create it.
    """

    def __init__(self, path: str | os.PathLike[str], n_shards: int | None, create: bool) -> None:
        self.path = Path(path)
        if not is_sharded(self.path):
            self._refuse_or_create(n_shards, create)
        found = self._read(SHARDS_FILE)
        self.n_shards = int(found["shards"])
        if found.get("version") != _VERSION:
            raise StoreError(f"{self.path} was made by a newer everlearn.", code="newer_version")
        if n_shards is not None and n_shards != self.n_shards:
            raise StoreError(
                f"{self.path} has {self.n_shards} shards, not {n_shards}, and their number cannot change: "
                "a key would be in another shard.",
                code="other_shards",
            )

    def store(self, shard: int) -> str:
        """The store of a shard."""
        return str(self.path / f"shard-{shard}.everlearn")

    def agree(self, name: str, value: Any) -> Any:
        """What all shards use: the value of whoever comes first, which is stored."""
        target = self.path / f"{name}.json"
        if value is not None and not target.exists():
            _write_new(target, value)
        return self._read(target.name) if target.exists() else None

    def _refuse_or_create(self, n_shards: int | None, create: bool) -> None:
        if self.path.is_file():
            raise StoreError(f"{self.path} is a file, not the folder of a sharded learner.", code="no_store")
        if not create or n_shards is None:
            raise StoreError(
                f"{self.path} is not the folder of a sharded learner.",
                code="no_store",
                remedy="To create one, pass the number of shards.",
            )
        if type(n_shards) is not int or n_shards < 1:
            raise ValueError(f"shards={n_shards!r} must be a positive integer.")
        self.path.mkdir(parents=True, exist_ok=True)
        if any(not name.startswith(".") for name in os.listdir(self.path)) and not is_sharded(self.path):
            raise StoreError(f"{self.path} is not empty: choose a new folder.", code="file_exists")
        _write_new(self.path / SHARDS_FILE, {"version": _VERSION, "shards": n_shards})

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except ValueError as error:
            raise StoreError(f"{self.path / name} is damaged: {error}.", code="damaged") from None


def _write_new(target: Path, value: Any) -> None:
    """Write a file unless it exists; it appears complete or not at all."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(name, target)
    finally:
        os.unlink(name)
