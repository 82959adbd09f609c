"""Why the model predicts what it predicts: the labeled rows and the words that speak for and against it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..read import Schema
from ..store.lookup import Id
from ._asking import Asking
from ._questions import Evidence, FieldShown, Guess
from ._results import RowIn
from ._shown import evidence, guess

_WORD = re.compile(r"\w+")
_MAX_WORDS = 60  # that are left out, one after another
_MAX_MARKED = 10
_LEAST_EFFECT = 0.02  # of a word on the decision value
_LEAST_SHARE = 0.2  # of the largest effect
_N_EVIDENCE = 3


@dataclass(frozen=True)
class Explanation:
    """Why the model predicts the class of a row.

    Attributes
    ----------
    id : int or str
        The id of the row.
    model_version : int
        The version of the model that is explained.
    prediction : Guess or None
        The prediction; None without a model.
    evidence : list of Evidence
        The labeled rows that speak most for and against the predicted class; never the row itself.
    fields : list of FieldShown
        The row, with the words of its texts that matter as ``highlights``.
    """

    id: Id
    model_version: int
    prediction: Guess | None
    evidence: list[Evidence]
    fields: list[FieldShown]


class Explaining(Asking):
    """Base of `LearningService`: explains predictions."""

    def explain(self, row: Id, by: str) -> Explanation:
        """Explain the prediction of a row.

        Parameters
        ----------
        row : int or str
            The id of the row; an id as text is understood.
        by : str
            Who wants to know. In a blind project, only those who have answered the row may.

        Returns
        -------
        Explanation
            The prediction now, the labeled rows that speak for and against it, and the words that do.
        """
        name = self.find_id(row)
        if self.settings.blind and self._votes.answered(name, by) is None:
            raise InputError(
                f"The prediction for the row {name!r} is hidden until you have answered it.",
                code="blind",
                remedy="Answer first, or let an admin turn off blind labeling.",
            )
        learner, schema = self.learner, self._schema()
        values = learner.rows([name])
        found = guess(learner, values)
        fields = self._fields(name)
        if found is None:
            return Explanation(name, learner.model_version, None, [], fields)
        record = learner.records_of([name]).get(name)
        if schema is not None and record:
            fields = self._highlighted(found.label, schema, record, fields)
        speaking = [item for item in evidence(learner, values, schema, _N_EVIDENCE + 1) if item.id != name]
        first = [
            item
            for side in ("for", "against")
            for item in [item for item in speaking if item.speaks == side][:_N_EVIDENCE]
        ]
        return Explanation(name, learner.model_version, found, first, fields)

    def _highlighted(
        self, label: Any, schema: Schema, record: Mapping[str, Any], fields: list[FieldShown]
    ) -> list[FieldShown]:
        """The fields with the words marked whose absence changes the decision value most."""
        texts = {
            field.name: record[field.name]
            for field in schema.fields
            if field.kind == "text" and isinstance(record.get(field.name), str)
        }
        words = [(name, word) for name, text in texts.items() for word in _distinct(text)][:_MAX_WORDS]
        if not words:
            return fields
        values = {name: value for name, value in record.items() if name != schema.name_of("id")}
        variants = [values, *({**values, name: _without(texts[name], word)} for name, word in words)]
        scores = self.learner.decision_function(
            self._encoded([RowIn(variant) for variant in variants], labels=False).X
        )
        classes = self.learner.classes
        if scores is None or label not in classes or len(scores) != len(variants):
            return fields
        margins = _margins(np.asarray(scores, dtype=np.float64), classes.index(label))
        effects = dict(zip(words, (margins[0] - margins[1:]).tolist(), strict=True))
        largest = max(map(abs, effects.values()))
        strong = sorted(
            (pair for pair in effects.items() if abs(pair[1]) >= max(_LEAST_EFFECT, _LEAST_SHARE * largest)),
            key=lambda pair: -abs(pair[1]),
        )[:_MAX_MARKED]
        weights = {pair: round(effect / largest, 3) for pair, effect in strong}
        return [replace(field, highlights=_marks(field, weights)) for field in fields]


def _distinct(text: str) -> list[str]:
    """The words of a text, each once, in their order."""
    return list(dict.fromkeys(word.casefold() for word in _WORD.findall(text)))


def _without(text: str, word: str) -> str:
    return _WORD.sub(lambda found: " " if found[0].casefold() == word else found[0], text)


def _margins(scores: NDArray[np.float64], at: int) -> NDArray[np.float64]:
    """How far each row is on the side of a class."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        return scores.ravel() * (1 if at == 1 else -1)
    others = np.delete(scores, at, axis=1)
    return np.asarray(scores[:, at] - others.max(axis=1))


def _marks(field: FieldShown, weights: Mapping[tuple[str, str], float]) -> list[tuple[int, int, float]]:
    """The places in the text of a field where the words stand, and their weights."""
    places: Sequence[re.Match[str]] = list(_WORD.finditer(field.text))
    return [
        (place.start(), place.end(), weights[field.name, place[0].casefold()])
        for place in places
        if (field.name, place[0].casefold()) in weights
    ]
