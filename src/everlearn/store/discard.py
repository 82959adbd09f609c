"""Discard a store in which nothing has been learned, so that it can be created again with other settings."""

import contextlib
import os
from typing import Any

import sqlalchemy as sa

from ..errors import StoreError
from ._database import SIDE_FILES
from ._tables import EVENTS, META, NOTES, SNAPSHOTS
from .log import Log

_SETTINGS = "settings"


def discard_if_untouched(location: str | os.PathLike[str], note: str) -> bool:
    """Remove settings, schema and notes of a store that has never had a row.

    Parameters
    ----------
    location : str or path-like
        The store.
    note : str
        Only a store with a note of this name is discarded: others were made on purpose.

    Returns
    -------
    bool
        Whether it was discarded.
    """
    try:
        with contextlib.closing(Log(location, read_only=True)) as log:
            untouched = log.n_rows == 0 and note in log.notes()
    except StoreError as error:
        if error.code != "no_store":
            raise
        return False
    if not untouched:
        return False
    with contextlib.closing(Log(location, create=False)) as log:
        if log.n_rows:  # another process was faster
            return False
        with log.transaction() as db:
            for table in (EVENTS, SNAPSHOTS, NOTES):
                db.execute(sa.delete(table))
            db.execute(sa.delete(META).where(META.c.key == _SETTINGS))
    return True


def remove_files(location: Any) -> bool:
    """Delete the files of a closed store; False if it is not a file, and nothing was done."""
    path = os.path.realpath(os.fspath(location))
    if "://" in os.fspath(location) or not os.path.isfile(path):
        return False
    for end in ("", *SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path + end)
    return True
