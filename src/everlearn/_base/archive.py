"""The format of a saved file: a state as a tree of plain data and arrays, in a sealed zip archive.

The file is an uncompressed zip archive::

    header.json     magic, format version, library version, class name, state tree
    arrays/0.npy    the arrays of the state tree, in the order in which the tree names them
    ...
    (zip comment)   "everlearn blake2b " and the BLAKE2b digest of every byte of the file before the digest

In the state tree null, booleans, strings, lists, finite floats and 64-bit integers stand for themselves;
everything else is an object with one key, its tag: ``{"tuple": [...]}``, ``{"dict": {...}}``,
``{"array": 0}``.
"""

import hashlib
import io
import json
import math
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import FileFormatError

Array: TypeAlias = npt.NDArray[Any]

MAGIC = "everlearn"
VERSION = 1
_HEADER = "header.json"
_OPENING = b'{"magic":"everlearn"'  # how the header begins, to tell a damaged file from a foreign one
SEAL = b"everlearn blake2b "
DIGEST_CHARS = 64
_CHUNK = 1 << 20
_MAX_DEPTH = 100
_SMALL = 1 << 16  # bytes: such a file is written in one piece
_KINDS = "biufcU"  # dtype kinds that hold plain data: bool, integers, floats, complex, unicode
_CSR: dict[str, type] = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
DAMAGED = "it is truncated or damaged. Restore it from a backup, or save the estimator again."


# State to tree and back.


def encode(value: Any, where: str, arrays: list[Array], depth: int = 0) -> Any:
    """The tree of a value; its arrays are appended to ``arrays``, and ``where`` is how errors name it."""
    # Exact types: a subclass (an enumeration, a named tuple) would not come back as what it was.
    kind = type(value)
    if depth > _MAX_DEPTH:
        raise ValueError(f"{where} is nested more than {_MAX_DEPTH} levels deep, or contains itself.")
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**63 else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
    if kind is list:
        return [encode(item, f"{where}[{i}]", arrays, depth + 1) for i, item in enumerate(value)]
    if kind is tuple:
        return {"tuple": encode(list(value), where, arrays, depth)}
    if kind is dict:
        if wrong := [key for key in value if type(key) is not str]:
            raise TypeError(f"{where} has the key {wrong[0]!r}: only dicts with str keys can be saved.")
        items = value.items()
        return {"dict": {key: encode(item, f"{where}[{key!r}]", arrays, depth + 1) for key, item in items}}
    if kind is np.str_:
        return {"str_": str.__str__(value)}  # its own __str__ cuts trailing NULs
    if isinstance(value, np.generic):
        return {"scalar": _set_aside(np.asarray(value), where, arrays)}
    if kind in (np.ndarray, np.memmap) and value.dtype == object:
        # In the tree and not as a unicode array, which would cut trailing NULs and pad all to the longest.
        strings = value.ravel().tolist()
        if wrong := [item for item in strings if type(item) not in (str, np.str_)]:
            raise _refusal(where, f"an array of objects, among them a {type(wrong[0]).__name__},")
        return {"strings": [strings, list(value.shape)]}
    if kind in (np.ndarray, np.memmap):
        return {"array": _set_aside(value, where, arrays)}
    if isinstance(value, np.dtype) and value.kind in _KINDS + "O":
        return {"dtype": value.str}
    if kind in _CSR.values():
        parts = (value.data, value.indices, value.indptr)
        members = [_set_aside(part, where, arrays) for part in parts]
        try:
            _csr(kind, parts, value.shape)
        except ValueError as exc:
            raise ValueError(f"{where} is not a valid CSR matrix: {exc}") from exc
        return {kind.__name__: [members, [int(length) for length in value.shape]]}
    if callable(value):
        raise TypeError(
            f"{where} is a callable ({value!r}), which cannot be saved: files contain data, never code. "
            "If it is a kernel, use a built-in one by its name (kernel='rbf') or kernel='precomputed'."
        )
    raise _refusal(where, f"a {kind.__module__}.{kind.__qualname__}")


def _set_aside(value: Array, where: str, arrays: list[Array]) -> int:
    if value.dtype.kind not in _KINDS:
        raise _refusal(where, f"an array of dtype {value.dtype}")
    arrays.append(value)
    return len(arrays) - 1


def _refusal(where: str, what: str) -> TypeError:
    return TypeError(
        f"{where} is {what} and cannot be saved. Convert it to numbers, strings, lists, tuples, dicts with "
        "str keys, numeric, bool or str arrays, or CSR matrices."
    )


class Decoder:
    """Turns a tree back into a state, with no more memory than the file has bytes, up to a constant factor.

    Every array is read once, as `save` writes it: a tree that names one array a thousand times would unpack
    into a thousand copies of it.
    """

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive, self._size = archive, size
        self._read: set[int] = set()
        if sum(info.file_size for info in archive.infolist()) > size:
            raise ValueError("its members overlap")

    def decode(self, tree: Any) -> Any:
        """The value of a node and of all below it."""
        if isinstance(tree, list):
            return [self.decode(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        ((tag, content),) = tree.items()
        match tag:
            case "dict":
                return {key: self.decode(item) for key, item in content.items()}
            case "tuple":
                return tuple(self.decode(item) for item in content)
            case "int":
                return int(content, 16)
            case "float":
                return struct.unpack(">d", bytes.fromhex(content))[0]
            case "str_":
                return np.str_(content)
            case "scalar":
                return self._scalar(content)
            case "array":
                return self._array(content)
            case "strings":
                strings, shape = content
                return np.array([str(item) for item in strings], dtype=object).reshape(shape)
            case "dtype" if re.fullmatch(r"[<>|][biufcUO]\d{0,6}", content):
                return np.dtype(content)
            case "csr_matrix" | "csr_array":
                members, shape = content
                return _csr(_CSR[tag], [self._array(member) for member in members], tuple(shape))
            case _:
                raise ValueError(f"unknown node {tag!r}")

    def _scalar(self, number: int) -> Any:
        value = self._array(number)[()]
        if not isinstance(value, np.generic):
            raise ValueError(f"array {number} is not a scalar")
        return value

    def _array(self, number: int) -> Array:
        if number in self._read:
            raise ValueError(f"array {number} is used twice")
        self._read.add(number)
        return _read_array(number, self._archive, self._size)


def _csr(cls: Any, parts: Sequence[Array], shape: tuple[int, ...]) -> Any:
    """A CSR matrix over exactly these arrays, after a check that no index points outside of it."""
    matrix = cls(tuple(parts), shape=shape)
    matrix.check_format(full_check=True)
    matrix.data, matrix.indices, matrix.indptr = parts  # the constructor may have narrowed the indices
    return matrix


# Tree to file and back.

# Raw surrogates instead of escapes: two escaped ones in a row would come back as one character.
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write(file: BinaryIO, header: dict[str, Any], arrays: list[Array]) -> None:
    title = _JSON.encode(header).encode("utf-8", "surrogatepass")
    if len(title) + sum(array.nbytes for array in arrays) < _SMALL:
        file.write(_small_archive(title, arrays))
        return
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = SEAL + b"0" * DIGEST_CHARS
        archive.writestr(zipfile.ZipInfo(_HEADER), title)
        for number, array in enumerate(arrays):
            info = zipfile.ZipInfo(f"arrays/{number}.npy")
            info.file_size = array.nbytes + 65536  # an upper bound, by which zipfile chooses 64-bit sizes
            with archive.open(info, "w") as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    seal(file)


_COMMON, _PLACE = struct.Struct("<5H3L2H").pack, struct.Struct("<3H2L").pack
_MADE = b"PK\1\2" + bytes((20, 0 if sys.platform == "win32" else 3))


def _small_archive(title: bytes, arrays: list[Array]) -> bytes:
    """The bytes that `zipfile` would write, sealed; it takes longer for a row than learning it."""
    members = [(_HEADER.encode(), title)]
    for number, array in enumerate(arrays):
        flags = array.flags
        fortran = not flags.c_contiguous and flags.f_contiguous
        start = _npy_header(array.dtype, fortran, array.shape)
        members.append((b"arrays/%d.npy" % number, start + array.tobytes("F" if fortran else "C")))
    body: list[bytes] = []
    directory: list[bytes] = []
    offset = 0
    for name, data in members:
        # Version 2.0, no flags, stored, 1980-01-01; then what central directory and member have in common.
        common = _COMMON(20, 0, 0, 0, 0x21, zlib.crc32(data), len(data), len(data), len(name), 0)
        body += (b"PK\3\4", common, name, data)
        directory += (_MADE, common, _PLACE(0, 0, 0, 0o600 << 16, offset), name)
        offset += 4 + len(common) + len(name) + len(data)
    index = b"".join(directory)
    n, length = len(members), len(SEAL) + DIGEST_CHARS
    end = b"PK\5\6" + struct.pack("<4H2LH", 0, 0, n, n, len(index), offset, length)
    sealed = b"".join((*body, index, end, SEAL))
    return sealed + hashlib.blake2b(sealed, digest_size=DIGEST_CHARS // 2).hexdigest().encode()


@lru_cache(maxsize=256)
def _npy_header(dtype: np.dtype[Any], fortran: bool, shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype.str, "fortran_order": fortran, "shape": shape})
    return file.getvalue()


def seal(file: BinaryIO) -> None:
    """Put the digest of all bytes before it into the last bytes of the file."""
    end = file.seek(0, os.SEEK_END) - DIGEST_CHARS
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest)


def _digest(file: BinaryIO, end: int) -> bytes:
    digest = hashlib.blake2b(digest_size=DIGEST_CHARS // 2)
    file.seek(0)
    while end > 0 and (chunk := file.read(min(end, _CHUNK))):
        digest.update(chunk)
        end -= len(chunk)
    return digest.hexdigest().encode()


def check_seal(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        raise FileFormatError("it is empty. Restore it from a backup, or save the estimator again.")
    file.seek(max(0, size - DIGEST_CHARS - len(SEAL)))
    seal, digest = file.read(len(SEAL)), file.read()
    if seal == SEAL:
        if digest != _digest(file, size - DIGEST_CHARS):
            raise FileFormatError(DAMAGED)
        return
    file.seek(0)
    start = file.read(30 + len(_HEADER) + len(_OPENING))  # 30: the fixed part of a zip's local header
    if start.endswith(_HEADER.encode() + _OPENING):
        raise FileFormatError(DAMAGED)
    what = "a zip archive that everlearn did not write" if start[:2] == b"PK" else "not a file of everlearn"
    raise FileFormatError(f"it is {what}, or a damaged one. Pass a file that `everlearn.save` wrote.")


def header_of(archive: zipfile.ZipFile) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(
        archive.read(_stored(_HEADER, archive)).decode("utf-8", "surrogatepass")
    )
    version = header["format_version"]
    if version > VERSION:
        raise FileFormatError(
            f"it has format version {version}, and this everlearn reads up to {VERSION}. Update "
            f"everlearn: the file was written by everlearn {header.get('library_version')}."
        )
    if header["magic"] != MAGIC or version != VERSION:
        raise ValueError(f"magic {header['magic']!r}, format version {version!r}")
    return header


def _read_array(number: int, archive: zipfile.ZipFile, most: int) -> Array:
    """One array; ``most`` bounds the number of its items, which may take no bytes at all."""
    member = f"arrays/{number:d}.npy"
    info = _stored(member, archive)
    with archive.open(info) as file:
        head = file.read(10)
        if head[:8] != np.lib.format.magic(1, 0):
            raise ValueError(f"{member} is of another npy version: {head[:8]!r}")
        head += file.read(int.from_bytes(head[8:], "little"))
        shape, by_columns, dtype = _array_header(head)
        if dtype.kind not in _KINDS:
            raise FileFormatError(
                f"its member {member} has the dtype {dtype}, which everlearn never writes and never reads. "
                "Do not trust this file; save the estimator again."
            )
        n, size = math.prod(shape), len(head) + math.prod(shape) * dtype.itemsize
        # Before anything of that size is allocated.
        if size != info.file_size or info.compress_size != size or n > most:
            raise ValueError(f"{member} has {info.file_size} bytes instead of {size}")
        items = file.read()
    if len(items) != size - len(head):
        raise ValueError(f"{member} ends early")
    order: Literal["C", "F"] = "F" if by_columns else "C"
    array: Array = np.empty(shape, dtype, order=order)
    if items:
        array.reshape(-1, order=order)[:] = np.frombuffer(items, dtype)
    return array


@lru_cache(maxsize=1000)
def _array_header(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether it is stored by columns, and the dtype; many arrays have the same header."""
    return np.lib.format.read_array_header_1_0(io.BytesIO(head[8:]))


def _stored(member: str, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    if member not in archive.NameToInfo:
        raise FileFormatError(f"its member {member} is missing; {DAMAGED}")
    info = archive.getinfo(member)
    if info.compress_type != zipfile.ZIP_STORED:  # a small file must not unpack into a large one
        raise ValueError(f"{member} is compressed")
    return info
