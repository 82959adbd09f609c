"""`everlearn expire`: erase rows that are too old."""

from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._console import console
from ._format import plural


@command("everlearn expire fraud.everlearn")
def expire(store: option.Store, traceback: option.Traceback = False) -> None:
    """Erase rows that are older than --max-age.

    `everlearn run` does so while rows arrive; use this command for a store that receives no more rows.
    """
    with NeverEndingLearner.open(store, create=False) as learner:
        console().print(f"Expired {plural(learner.expire(), 'row')}.")
