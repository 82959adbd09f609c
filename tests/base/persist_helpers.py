"""What the tests of saving share: a class to save, comparison bit for bit, files forged to order."""

import json
import os
import zipfile

import numpy as np
import pytest
from scipy import sparse

from everlearn._base import archive as file_format
from everlearn._base.persist import load, register, save
from everlearn.errors import FileFormatError


@register
class Toy:
    def __init__(self, state):
        self.state = state

    def _get_state(self):
        return self.state

    @classmethod
    def _from_state(cls, state):
        return cls(state)


@register
class Picky(Toy):
    @classmethod
    def _from_state(cls, state):
        return cls({"weight": state["weight"]})


def same(a, b):
    """Equal in type and in every bit, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if sparse.issparse(a):
        parts = ("data", "indices", "indptr")
        return a.shape == b.shape and all(same(getattr(a, part), getattr(b, part)) for part in parts)
    if isinstance(a, (np.ndarray, np.generic)) and a.dtype != object:
        order = "F" if np.isfortran(np.asarray(a)) else "C"
        bits = a.tobytes(order) == b.tobytes(order)
        return a.dtype == b.dtype and a.shape == b.shape and bits and np.isfortran(b) == (order == "F")
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and same(a.ravel().tolist(), b.ravel().tolist())
    return repr(a) == repr(b) if isinstance(a, float) else a == b


def small_state():
    return {
        "C": 10.0,
        "gamma": "scale",
        "big": 2**100,
        "inf": float("-inf"),
        "rows": np.arange(3.0),
        "labels": np.array(["no", "yes"], dtype=object),
        "nested": [None, True, (1, {"bias": np.float32(0.5)})],
    }


def saved(tmp_path, state=None):
    path = tmp_path / "model.everlearn"
    save(Toy(small_state() if state is None else state), path)
    return path


def content_of(path):
    """The header as a dict, and the other members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("header.json")), members


def forge(path, header, members, compression=zipfile.ZIP_STORED):
    """A file with a right digest around any content."""
    with open(path, "w+b") as file:
        with zipfile.ZipFile(file, "w", compression) as archive:
            archive.comment = file_format.SEAL + b"0" * file_format.DIGEST_CHARS
            archive.writestr("header.json", header if isinstance(header, str) else json.dumps(header))
            for name, data in members.items():
                archive.writestr(name, data)
        file_format.seal(file)


def refused(path, words):
    """Loading fails with the path and these words in the message."""
    with pytest.raises(FileFormatError, match=words) as caught:
        load(path)
    assert repr(os.fspath(path)) in str(caught.value)
