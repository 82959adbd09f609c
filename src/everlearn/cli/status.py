"""`everlearn status`: the state of a store."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..read.sources import OFFSETS_NOTE
from ..stream import Answer, NeverEndingLearner, ShardedLearner
from ..stream.exchange import ANSWER_OFFSETS_NOTE
from ..stream.sharded import is_sharded
from . import _options as option
from ._app import command
from ._console import console
from ._run_record import RunRecord
from ._tables import as_json, print_disagreements, print_shards, print_status


@command(
    "everlearn status fraud.everlearn", "everlearn status fraud.everlearn --json", "everlearn status shards"
)
def status(
    store: option.StoreOrShards,
    json: Annotated[
        bool, typer.Option("--json", help="Print everything, as JSON.", show_default=False)
    ] = False,
    traceback: option.Traceback = False,
) -> None:
    """Show the state of a store, or of all shards of a folder, even while other processes write to it."""
    if is_sharded(store):
        with ShardedLearner.open(store, read_only=True) as shards:
            joint = shards.status()
            for shard, learner in zip(joint["stores"], shards.learners.values(), strict=True):
                shard[OFFSETS_NOTE] = learner.notes.get(OFFSETS_NOTE)
        return print(as_json(joint)) if json else print_shards(joint, console())
    with NeverEndingLearner.open(store, read_only=True) as learner:
        found = learner.status()
        split = learner.disagreements()
        notes = learner.notes
        record = RunRecord.from_notes(notes)
    more = {"run": record.as_notes(), "disagreements": _as_values(split)}
    more |= {name: notes[name] for name in (OFFSETS_NOTE, ANSWER_OFFSETS_NOTE) if name in notes}
    if json:
        print(as_json(found | more))
    else:
        print_status(found, record, console())
        print_disagreements(split, console())


def _as_values(answers: Mapping[Any, list[Answer]]) -> list[dict[str, Any]]:
    """Answers as values that JSON can hold."""
    return [{"id": row, "answers": [asdict(answer) for answer in given]} for row, given in answers.items()]
