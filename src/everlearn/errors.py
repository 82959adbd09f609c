"""The errors of everlearn's own; a caller's mistake is an ordinary ``ValueError`` or ``TypeError``."""


class EverlearnError(Exception):
    """The base of every error that is everlearn's own."""


class CoreError(EverlearnError, RuntimeError):
    """An invariant of everlearn is broken: a bug here, not a mistake of the caller."""


class FileFormatError(EverlearnError, ValueError):
    """A file cannot be read: it is corrupt, truncated, foreign or of a newer version."""


class StoreError(EverlearnError, RuntimeError):
    """A store cannot be opened or written to: in use, read-only, full, damaged or of a newer version."""
