"""Warnings that point at the line of the user's code, however deep in the library they are given."""

from __future__ import annotations

import inspect
import warnings


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, in the line outside of everlearn that led here."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("everlearn."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
