"""Stores of records that are linked: how they are opened, and what is printed about them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ..stream import NeverEndingLearner
from ._console import console, notice
from ._format import plural

if TYPE_CHECKING:  # imported when a store has records: it takes a while
    from ..linkage import NeverEndingLinker

_MAX_CONTRADICTIONS = 5
NO_PAIRS = (
    "No two records share a key, so there is nothing to ask about. Keys are chosen when a store is created: "
    "use a new one with coarser keys, such as --block prefix:name."
)


def open_store(
    store: str, opened: contextlib.ExitStack
) -> tuple[NeverEndingLinker | None, NeverEndingLearner]:
    """A store for writing: the linker, if its rows are pairs of records, and the learner."""
    learner = NeverEndingLearner.open(store, create=False)
    if not learner.notes.get("linkage"):
        return None, opened.enter_context(learner)
    learner.close()
    linker = open_linker(store, opened)
    return linker, linker.learner


def open_linker(store: str, opened: contextlib.ExitStack) -> NeverEndingLinker:
    """The linker of a store that exists."""
    from ..linkage import NeverEndingLinker

    return opened.enter_context(NeverEndingLinker.open(store, create=False))


def questions_of(linker: NeverEndingLinker, n: int) -> list[Any]:
    """Open questions of the learner, after those that follow from answers were learned."""
    asked = {question.id for question in linker.ask(n)}
    return [question for question in linker.learner.open_questions() if question.id in asked]


def print_linkage(linker: NeverEndingLinker) -> None:
    """Print the counts of a linkage, and answers that contradict each other."""
    linker.link()
    found = linker.status()
    labels = found["same"] + found["different"]
    console().print(
        f"{plural(found['records'], 'record')} in {plural(found['clusters'], 'cluster')}; "
        f"{plural(labels, 'label')} ({found['same']:,} same, {found['different']:,} different)."
    )
    wrong = linker.contradictions()
    for contradiction in wrong[:_MAX_CONTRADICTIONS]:
        console().print(notice(f"Contradiction: {contradiction}.", style="yellow"))
    if len(wrong) > _MAX_CONTRADICTIONS:
        console().print(notice(f"and {len(wrong) - _MAX_CONTRADICTIONS} more contradictions", style="yellow"))


def print_verdict(linker: NeverEndingLinker) -> None:
    """Print whether more answers are of use."""
    verdict = linker.verdict()
    if verdict.stop:
        console().print(notice(f"You can stop: {verdict.reason}", style="green"))
    elif verdict.evidence.get("labels"):
        console().print(verdict.reason)
