"""Save an estimator in one file and load it back, bit for bit and without pickle.

The format of the file is in `archive`.

A class takes part when it is decorated with `register` and has ``_get_state(self) -> dict`` and the class
method ``_from_state(cls, state)``, which checks the state as a whole and raises a `ValueError` where its
parts do not fit together. It may have ``_check_savable(self)``, which raises for what could not be loaded
again. Loading looks names up among the registered classes and nowhere else, and reads data only, so that no
file can make it run code.
"""

import errno
import functools
import importlib.metadata
import io
import os
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO, TypeAlias, TypeVar

from .. import _atomic
from ..errors import FileFormatError
from . import archive
from .archive import Array

__all__ = ["load", "register", "save"]

Path: TypeAlias = "str | os.PathLike[str]"
Class = TypeVar("Class", bound=type)

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

    The file is replaced in one step: whatever fails, and even if the process is killed, ``path`` has either
    the old content or the new. An existing file keeps its permission bits.

    Parameters
    ----------
    estimator : object
        An estimator of everlearn, fitted or not, or a `Pipeline` of scikit-learn that ends with one. A
        callable in it (a kernel, say) is refused. The transformers of a pipeline may be scalers,
        `Normalizer`, `SimpleImputer`, encoders, `PCA`, `TruncatedSVD`, text vectorizers, and a
        `ColumnTransformer` of such.
    path : str or path-like
        Where to save.
    """
    estimator = _in_savable_form(estimator)
    cls = type(estimator)
    if _registry.get(cls.__name__) is not cls:
        raise TypeError(
            f"{cls.__name__} cannot be saved: it is not a registered class, so that it could not be loaded. "
            "Save an estimator of everlearn itself, or a Pipeline around one; pickle a class of your own."
        )
    arrays: list[Array] = []
    state = archive.encode(_state_of(estimator), "state", arrays)
    header = {
        "magic": archive.MAGIC,
        "format_version": archive.VERSION,
        "library_version": _library_version(),
        "class": cls.__name__,
        "state": state,
    }
    _atomic.replace(os.fsdecode(path), lambda file: archive.write(file, header, arrays))


@when_unknown
def _import_pipelines() -> None:
    from . import pipelines  # noqa: F401 - registers the class that saves pipelines


def _in_savable_form(estimator: Any) -> Any:
    """A pipeline of scikit-learn in the form of a registered class; anything else as it is."""
    if type(estimator).__module__ != "sklearn.pipeline":
        return estimator
    from .pipelines import SavedPipeline, is_transformer

    return SavedPipeline(estimator) if is_transformer(estimator) else estimator


def load(path: Path) -> Any:
    """Load the estimator that `save` wrote to a file.

    Loading never executes anything from the file. The digest in the file detects accidental damage, not
    forgery.

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
        If the file is corrupt, truncated, not an everlearn file or of a newer version.
    """
    name = os.fsdecode(path)
    _atomic.file_mode(name)
    with open(name, "rb") as file:
        try:
            archive.check_seal(file)
            header, state = _read(file)
        except FileFormatError as exc:
            raise FileFormatError(f"{name!r} cannot be loaded: {exc}") from exc.__cause__
        except Exception as exc:  # a sealed file with content that `save` never writes can trip any parser
            if isinstance(exc, OSError) and exc.errno not in (None, errno.EINVAL):
                raise  # the disk, not the content
            raise FileFormatError(f"{name!r} cannot be loaded: {archive.DAMAGED} ({_reason(exc)})") from exc
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
    """The message of an exception; without one, as of a `MemoryError`, its name."""
    return str(exc) or type(exc).__name__


def pack(state: dict[str, Any]) -> bytes:
    """A state as sealed bytes: what `save` would write of an object with it, without a class."""
    arrays: list[Array] = []
    header = {
        "magic": archive.MAGIC,
        "format_version": archive.VERSION,
        "library_version": _library_version(),
        "state": archive.encode(state, "the state", arrays),
    }
    file = io.BytesIO()
    archive.write(file, header, arrays)
    return file.getvalue()


def unpack(data: bytes) -> Any:
    """The state in bytes of `pack`; a `FileFormatError` for any others."""
    file = io.BytesIO(data)
    try:
        archive.check_seal(file)
        with zipfile.ZipFile(file) as members:
            return archive.Decoder(members, len(data)).decode(archive.header_of(members)["state"])
    except FileFormatError:
        raise
    except Exception as exc:
        raise FileFormatError(f"{archive.DAMAGED} ({_reason(exc)})") from exc


def is_registered(item: Any) -> bool:
    """Whether an object can be saved: its class was registered."""
    return _registry.get(type(item).__name__) is type(item)


def describe(item: Any) -> dict[str, Any]:
    """A registered object by its class and its state, for use within another state."""
    cls = type(item)
    if not is_registered(item):
        raise TypeError(f"A {cls.__name__} cannot be saved without pickle: use a learner of everlearn.")
    return {"class": cls.__name__, "state": _state_of(item)}


def _state_of(item: Any) -> dict[str, Any]:
    """The state of a registered object; an error now if it has parameters that loading would refuse."""
    if hasattr(item, "_check_savable"):
        item._check_savable()
    state: dict[str, Any] = item._get_state()
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


def _read(file: BinaryIO) -> tuple[dict[str, Any], Any]:
    with zipfile.ZipFile(file) as members:
        header = archive.header_of(members)
        if not _is_known(header["class"]):
            raise FileFormatError(
                f"the class {header['class']!r} in it is unknown here. Import the module that registers it, "
                f"or update everlearn: the file was written by everlearn {header.get('library_version')}."
            )
        size = file.seek(0, os.SEEK_END)
        return header, archive.Decoder(members, size).decode(header["state"])
