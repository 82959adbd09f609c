"""Support vector machines that learn from a stream."""

from .lasvm import LASVM

__all__ = ["LASVM"]
