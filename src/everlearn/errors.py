"""The errors of everlearn; a plain mistake of the caller is a ``ValueError`` or ``TypeError``.

An error may carry a code, which says what went wrong, the parameter and its value, and a remedy in terms of
the Python interface. A program with another interface, such as the command line, looks up its own remedy by
the code.
"""

from typing import Any


class EverlearnError(Exception):
    """Base class of the errors of everlearn.

    Parameters
    ----------
    problem : str, default=""
        What went wrong, in one or more sentences.
    code : str, default=None
        What went wrong, for programs: for example "in_use" or "duplicate_id".
    remedy : str, default=None
        What to do about it, as a sentence for a Python programmer. The message is the problem and the remedy.
    parameter : str, default=None
        The parameter or the field that is not acceptable, for programs.
    value : object, default=None
        Its value, as far as it can be shown.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        code: str | None = None,
        remedy: str | None = None,
        parameter: str | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(problem if remedy is None else f"{problem} {remedy}")
        self.problem, self.code, self.remedy = problem, code, remedy
        self.parameter, self.value = parameter, value


class CoreError(EverlearnError, RuntimeError):
    """An invariant of everlearn is broken: a bug in everlearn, not a mistake of the caller."""


class DeviceError(EverlearnError, RuntimeError):
    """A CUDA device cannot be used: it is missing, too old, out of memory, or has failed."""


class FileFormatError(EverlearnError, ValueError):
    """A file cannot be read: it is corrupt, truncated, not an everlearn file or of a newer version."""


class InputError(EverlearnError, ValueError):
    """An argument or a row is not acceptable: a ``ValueError`` with a code."""


class StoreError(EverlearnError, RuntimeError):
    """A store cannot be opened or written to: in use, read-only, full, damaged or of a newer version."""


class BusyError(EverlearnError, RuntimeError):
    """A service cannot queue more; nothing was done. Try again after ``retry_after`` seconds."""

    def __init__(self, problem: str, *, retry_after: float = 1.0) -> None:
        super().__init__(problem, code="busy", remedy=f"Try again in {retry_after:g} s.")
        self.retry_after = retry_after


class BrokerError(EverlearnError, RuntimeError):
    """A broker cannot be used: it is down, refuses the login, has no such topic, or has dropped messages."""
