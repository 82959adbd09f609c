"""The store: a durable log of events with snapshots, retention, backup and certificates of erasure."""

try:
    import filelock  # noqa: F401
    import sqlalchemy  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f'A store needs {error.name}: pip install "everlearn[stream]".', name=error.name
    ) from error

from .backup import backup
from .certificate import Certificate

__all__ = ["Certificate", "backup"]
