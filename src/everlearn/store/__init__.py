"""The store: a durable log of events with snapshots, retention, backup and certificates of erasure."""

from .backup import backup
from .certificate import Certificate

__all__ = ["Certificate", "backup"]
