"""A fit of rows in several parts, all in this process."""

import numpy as np

from everlearn._base import part_scores, parts
from everlearn._base.parts_fit import PartsFit


class Here:
    """Parts in this process."""

    def __init__(self, rows, states, plan):
        self.rows, self.states, self.machine = rows, states, plan.machine()
        self.bytes = self.rounds = 0

    def check_chunk(self, model, limit, number):
        return self._advance("run_chunk", model, limit, number)

    def check(self, model, limit, everything):
        return self._advance("run", model, limit, everything)

    def _advance(self, method, model, *how):
        answers = []
        for number, (rows, state) in enumerate(zip(self.rows, self.states, strict=True)):
            check = part_scores.Check(rows, state, model, self.machine)
            self.states[number], found = getattr(check, method)(*how)
            answers.append(found)
        self.rounds += 1
        self.bytes += model.nbytes + sum(answer.nbytes for answer in answers)
        return answers

    def nearest(self, model, most):
        pairs = zip(self.rows, self.states, strict=True)
        return [part_scores.Check(rows, state, model, self.machine).nearest(most) for rows, state in pairs]

    def names(self, numbers):
        return numbers


def fit_parts(learner, given, seed=0):
    """Fit a learner to parts, each (X, y) or (X, y, weights); returns it and the exchange."""
    valid = [parts.validate_part(learner, *part) for part in given]
    facts = [parts.describe_part(part) for part in valid]
    heads = [parts.head_of(valid[k], most) for k, most in parts.heads_needed(facts).items()]
    plan = parts.plan_of(learner, facts, heads)
    rows = [parts.prepare_part(part, plan) for part in valid]
    draws = [np.random.RandomState(seed + k) for k in range(len(rows))]
    chunks = [parts.chunks_of(part, plan, draw) for part, draw in zip(rows, draws, strict=True)]
    found = [
        parts.candidates(part, plan, own[0], draw)
        for part, own, draw in zip(rows, chunks, draws, strict=True)
    ]
    columns = 1 if len(plan.classes) == 2 else len(plan.classes)
    states = [
        part_scores.begin_state(part, first, columns, places, own)
        for part, first, (places, _), own in zip(rows, plan.first, found, chunks, strict=True)
    ]
    here = Here(rows, states, plan)
    fit = PartsFit(plan, here)
    taken = [
        part_scores.take_rows(part, places, first)
        for part, first, (places, _) in zip(rows, plan.first, found, strict=True)
    ]
    model = fit.run(taken)
    here.evaluations = sum(count for _, count in found) + fit.n_kernel_evaluations
    return model, here


def in_parts(X, y, count, *more):
    return [
        tuple(array[part] for array in (X, y, *more)) for part in np.array_split(np.arange(len(y)), count)
    ]
