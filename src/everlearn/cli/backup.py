"""`everlearn backup`: copy a store."""

from typing import Annotated

import typer

from ..store import backup as backup_store
from . import _options as option
from ._app import command
from ._console import console
from ._format import plural
from ._outputs import check_outputs


@command("everlearn backup fraud.everlearn backups/monday.everlearn")
def backup(
    store: option.Store,
    destination: Annotated[
        str,
        typer.Argument(metavar="DEST", help="The copy: a file, or the URL of a database without a store."),
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    traceback: option.Traceback = False,
) -> None:
    """Copy a store, even while it is in use, and verify the copy."""
    check_outputs({"DEST": destination if "://" not in destination else None}, store=store)
    found = backup_store(store, destination, overwrite=overwrite)
    console().print(
        f"Wrote and verified {destination} ({plural(found['events'], 'event')}, "
        f"{plural(found['rows'], 'row')}, {plural(found['labels'], 'label')}, "
        f"{plural(found['snapshots'], 'snapshot')})"
    )
