"""Save an estimator in one file and load it back, bit for bit and without pickle.

The file is an uncompressed zip archive::

    header.json     magic, format version, library version, class name, state tree
    arrays/0.npy    the arrays of the state tree, in the order in which the tree names them
    ...
    (zip comment)   "everlearn blake2b " and the BLAKE2b digest of every byte of the file before the digest

In the state tree null, booleans, strings, lists, finite floats and 64-bit integers stand for themselves;
everything else is an object with one key, its tag: ``{"tuple": [...]}``, ``{"dict": {...}}``,
``{"array": 0}``.

A class takes part when it is decorated with `register` and has ``_get_state(self) -> dict`` and the class
method ``_from_state(cls, state)``, which checks the state as a whole and raises a `ValueError` where its
parts do not fit together. It may have ``_check_savable(self)``, which raises for what could not be loaded
again. Loading looks names up among the registered classes and nowhere else, and reads data only, so that no
file can make it run code.
"""

import errno
import functools
import hashlib
import importlib.metadata
import io
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _atomic
from ..errors import FileFormatError

__all__ = ["load", "register", "save"]

Path: TypeAlias = "str | os.PathLike[str]"
Array: TypeAlias = npt.NDArray[Any]
Class = TypeVar("Class", bound=type)

_MAGIC = "everlearn"
_VERSION = 1
_HEADER = "header.json"
_OPENING = b'{"magic":"everlearn"'  # how the header begins, to tell a damaged file from a foreign one
_SEAL = b"everlearn blake2b "
_DIGEST_CHARS = 64
_CHUNK = 1 << 20
_MAX_DEPTH = 100
_KINDS = "biufcU"  # dtype kinds that hold plain data: bool, integers, floats, complex, unicode
_CSR: dict[str, type] = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
_DAMAGED = "it is truncated or damaged. Restore it from a backup, or save the estimator again."

_registry: dict[str, type] = {}
_importers: list[Callable[[], None]] = []


def register(cls: Class) -> Class:
    """Allow the instances of a class to be saved and loaded; use it as a decorator."""
    for method in ("_get_state", "_from_state"):
        if not callable(getattr(cls, method, None)):
            raise TypeError(f"{cls.__name__} cannot be registered: it has no method {method}.")
    known = _registry.get(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{cls.__name__} is already registered by {known.__module__}: rename this one.")
    _registry[cls.__name__] = cls
    return cls


def when_unknown(importer: Callable[[], None]) -> Callable[[], None]:
    """Have a function import modules with registered classes before a class counts as unknown."""
    _importers.append(importer)
    return importer


def registered() -> dict[str, type]:
    """All registered classes by name, those of modules that are imported on demand included."""
    for importer in _importers:
        importer()
    return dict(_registry)


def _is_known(name: Any) -> bool:
    return name in _registry or name in registered()


def save(estimator: Any, path: Path) -> None:
    """Save an estimator to a file, which `load` restores bit for bit.

    The file is replaced in one step: whatever goes wrong, and whenever the process dies, ``path`` holds
    either the old content or the new. An existing file keeps its permission bits.

    Parameters
    ----------
    estimator : object
        An estimator of everlearn, fitted or not. A callable in it (a kernel, say) is refused.
    path : str or path-like
        Where to save.
    """
    cls = type(estimator)
    if _registry.get(cls.__name__) is not cls:
        raise TypeError(
            f"{cls.__name__} cannot be saved: it is not a registered class, so that it could not be loaded. "
            "Save an estimator of everlearn itself; pickle a class of your own."
        )
    arrays: list[Array] = []
    state = _encode(_state_of(estimator), "state", arrays)
    header = {
        "magic": _MAGIC,
        "format_version": _VERSION,
        "library_version": _library_version(),
        "class": cls.__name__,
        "state": state,
    }
    _atomic.replace(os.fsdecode(path), lambda file: _write(file, header, arrays))


def load(path: Path) -> Any:
    """Load the estimator that `save` wrote to a file.

    Loading never executes anything from the file. The digest in the file reveals accidents, not forgery.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    object
        The estimator, in the state in which it was saved.

    Raises
    ------
    FileFormatError
        If the file is corrupt, truncated, foreign or of a newer version.
    """
    name = os.fsdecode(path)
    _atomic.file_mode(name)
    with open(name, "rb") as file:
        try:
            _check_seal(file)
            header, state = _read(file)
        except FileFormatError as exc:
            raise FileFormatError(f"{name!r} cannot be loaded: {exc}") from exc.__cause__
        except Exception as exc:  # a sealed file with content that `save` never writes can trip any parser
            if isinstance(exc, OSError) and exc.errno not in (None, errno.EINVAL):
                raise  # the disk, not the content
            raise FileFormatError(f"{name!r} cannot be loaded: {_DAMAGED} ({_reason(exc)})") from exc
    cls: Any = _registry[header["class"]]
    try:
        return cls._from_state(state)
    except Exception as exc:  # whatever a forged state does to a class, a caller has one error to expect
        raise FileFormatError(
            f"{name!r} cannot be loaded: its state does not fit the class {cls.__name__} of everlearn "
            f"{_library_version()} ({_reason(exc)}). Load it with everlearn "
            f"{header.get('library_version')}, which wrote it."
        ) from exc


def _reason(exc: Exception) -> str:
    """An exception in words; a bare one, such as a `MemoryError`, by its name."""
    return str(exc) or type(exc).__name__


def pack(state: dict[str, Any]) -> bytes:
    """A state as sealed bytes: what `save` would write of an object with it, without a class."""
    arrays: list[Array] = []
    header = {
        "magic": _MAGIC,
        "format_version": _VERSION,
        "library_version": _library_version(),
        "state": _encode(state, "the state", arrays),
    }
    file = io.BytesIO()
    _write(file, header, arrays)
    return file.getvalue()


def unpack(data: bytes) -> Any:
    """The state in bytes of `pack`; a `FileFormatError` for any others."""
    file = io.BytesIO(data)
    try:
        _check_seal(file)
        with zipfile.ZipFile(file) as archive:
            return _Decoder(archive, len(data)).decode(_header(archive)["state"])
    except FileFormatError:
        raise
    except Exception as exc:
        raise FileFormatError(f"{_DAMAGED} ({_reason(exc)})") from exc


def is_registered(thing: Any) -> bool:
    """Whether an object can be saved: its class was registered."""
    return _registry.get(type(thing).__name__) is type(thing)


def describe(thing: Any) -> dict[str, Any]:
    """A registered object by its class and its state, for use within another state."""
    cls = type(thing)
    if not is_registered(thing):
        raise TypeError(f"A {cls.__name__} cannot be saved without pickle: take a learner of everlearn.")
    return {"class": cls.__name__, "state": _state_of(thing)}


def _state_of(thing: Any) -> dict[str, Any]:
    """The state of a registered object; an error now if it has parameters that loading would refuse."""
    if hasattr(thing, "_check_savable"):
        thing._check_savable()
    state: dict[str, Any] = thing._get_state()
    return state


def revive(description: dict[str, Any]) -> Any:
    """The object that `describe` described."""
    if not _is_known(description["class"]):
        raise FileFormatError(f"the class {description['class']!r} in it is unknown here: update everlearn.")
    cls: Any = _registry[description["class"]]
    return cls._from_state(description["state"])


@functools.cache
def _library_version() -> str:
    try:
        return importlib.metadata.version("everlearn")
    except importlib.metadata.PackageNotFoundError:
        return "(version unknown)"


# State to tree and back.


def _encode(value: Any, where: str, arrays: list[Array], depth: int = 0) -> Any:
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
        return [_encode(item, f"{where}[{i}]", arrays, depth + 1) for i, item in enumerate(value)]
    if kind is tuple:
        return {"tuple": _encode(list(value), where, arrays, depth)}
    if kind is dict:
        if wrong := [key for key in value if type(key) is not str]:
            raise TypeError(f"{where} has the key {wrong[0]!r}: only dicts with str keys can be saved.")
        items = value.items()
        return {"dict": {key: _encode(item, f"{where}[{key!r}]", arrays, depth + 1) for key, item in items}}
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
            f"{where} is a callable ({value!r}), which cannot be saved: the file holds data, never code. "
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


class _Decoder:
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


def _write(file: BinaryIO, header: dict[str, Any], arrays: list[Array]) -> None:
    # Raw surrogates instead of escapes: two escaped ones in a row would come back as one character.
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _SEAL + b"0" * _DIGEST_CHARS
        archive.writestr(zipfile.ZipInfo(_HEADER), text.encode("utf-8", "surrogatepass"))
        for number, array in enumerate(arrays):
            info = zipfile.ZipInfo(f"arrays/{number}.npy")
            info.file_size = array.nbytes + 65536  # an upper bound, by which zipfile chooses 64-bit sizes
            with archive.open(info, "w") as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    _seal(file)


def _seal(file: BinaryIO) -> None:
    """Put the digest of all bytes before it into the last bytes of the file."""
    end = file.seek(0, os.SEEK_END) - _DIGEST_CHARS
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest)


def _digest(file: BinaryIO, end: int) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST_CHARS // 2)
    file.seek(0)
    while end > 0 and (chunk := file.read(min(end, _CHUNK))):
        digest.update(chunk)
        end -= len(chunk)
    return digest.hexdigest().encode()


def _check_seal(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        raise FileFormatError("it is empty. Restore it from a backup, or save the estimator again.")
    file.seek(max(0, size - _DIGEST_CHARS - len(_SEAL)))
    seal, digest = file.read(len(_SEAL)), file.read()
    if seal == _SEAL:
        if digest != _digest(file, size - _DIGEST_CHARS):
            raise FileFormatError(_DAMAGED)
        return
    file.seek(0)
    start = file.read(30 + len(_HEADER) + len(_OPENING))  # 30: the fixed part of a zip's local header
    if start.endswith(_HEADER.encode() + _OPENING):
        raise FileFormatError(_DAMAGED)
    what = "a zip archive that everlearn did not write" if start[:2] == b"PK" else "not a file of everlearn"
    raise FileFormatError(f"it is {what}, or a damaged one. Give the path of a file that it saved.")


def _read(file: BinaryIO) -> tuple[dict[str, Any], Any]:
    with zipfile.ZipFile(file) as archive:
        header = _header(archive)
        if not _is_known(header["class"]):
            raise FileFormatError(
                f"the class {header['class']!r} in it is unknown here. Import the module that registers it, "
                f"or update everlearn: the file was written by everlearn {header.get('library_version')}."
            )
        size = file.seek(0, os.SEEK_END)
        return header, _Decoder(archive, size).decode(header["state"])


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(
        archive.read(_stored(_HEADER, archive)).decode("utf-8", "surrogatepass")
    )
    version = header["format_version"]
    if version > _VERSION:
        raise FileFormatError(
            f"it has format version {version}, and this everlearn reads up to {_VERSION}. Update "
            f"everlearn: the file was written by everlearn {header.get('library_version')}."
        )
    if header["magic"] != _MAGIC or version != _VERSION:
        raise ValueError(f"magic {header['magic']!r}, format version {version!r}")
    return header


def _read_array(number: int, archive: zipfile.ZipFile, most: int) -> Array:
    """One array; ``most`` bounds the number of its items, which may take no bytes at all."""
    member = f"arrays/{number:d}.npy"
    info = _stored(member, archive)
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"{member} is of npy version {version}")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        size = file.tell() + math.prod(shape) * dtype.itemsize
    if dtype.kind not in _KINDS:
        raise FileFormatError(
            f"its member {member} has the dtype {dtype}, which everlearn never writes and never reads. "
            "Do not trust this file; save the estimator again."
        )
    # Before anything of that size is allocated.
    if size != info.file_size or info.compress_size != size or math.prod(shape) > most:
        raise ValueError(f"{member} has {info.file_size} bytes instead of {size}")
    with archive.open(info) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _stored(member: str, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    if member not in archive.NameToInfo:
        raise FileFormatError(f"its member {member} is missing; {_DAMAGED}")
    info = archive.getinfo(member)
    if info.compress_type != zipfile.ZIP_STORED:  # a small file must not unpack into a large one
        raise ValueError(f"{member} is compressed")
    return info
