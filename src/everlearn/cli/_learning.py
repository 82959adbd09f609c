"""`everlearn run`: a run, with all that is said about it."""

from ._console import console, error_console, show
from ._errors import interrupted
from ._interrupt import Interrupt
from ._predictions import bad_rows
from ._progress import Progress, Silent, facts
from ._run import Plan, begin, how_to_go_on
from ._tables import schema_table


def learn(plan: Plan, quiet: bool) -> None:
    """Learn from a source into a store until it ends, or somebody ends it."""
    shown = Silent() if quiet else Progress(error_console())
    with Interrupt(lambda: shown.say("Stopping after this batch; once more stops at once.")) as interrupt:
        with interrupt.at_once():  # nothing can be lost yet
            going = begin(plan)
        with going:
            if not quiet:
                schema_table(going.schema, error_console())
                shown.say(going.note)
            with shown:
                going.go(interrupt, shown)
            found = going.learner.status()
            if not quiet:
                show(facts(found, going.source, shown.speed), console())
                shown.say(going.source.message)
                shown.say(bad_rows(going.source, plan.reading.quarantine))
                shown.say(f"{going.n_known:,} rows were known by their ids." if going.n_known else "")
    if interrupt.error is not None:
        error_console().print(how_to_go_on(going.source))
        raise interrupted(interrupt.error)
    if found["open_questions"] and plan.oracle is None:
        shown.say(f"{found['open_questions']:,} open questions: everlearn ask {plan.store}")
