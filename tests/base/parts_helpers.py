"""A fit of rows in several parts, all in this process."""

import numpy as np

from everlearn._base import part_scores, parts
from everlearn._base.parts_fit import PartsFit


class Here:
    """Parts in this process."""

    def __init__(self, rows, states, plan):
        self.rows, self.states, self.machine = rows, states, plan.machine()
        self.bytes = self.rounds = 0

    def check(self, model, limit, everything):
        answers = []
        for number, (rows, state) in enumerate(zip(self.rows, self.states, strict=True)):
            self.states[number], found = part_scores.Check(rows, state, model, self.machine).run(
                limit, everything
            )
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
    found = [parts.candidates(part, plan, seed + k) for k, part in enumerate(rows)]
    columns = 1 if len(plan.classes) == 2 else len(plan.classes)
    states = [
        part_scores.begin_state(part, first, columns, places)
        for part, first, (places, _) in zip(rows, plan.first, found, strict=True)
    ]
    here = Here(rows, states, plan)
    fit = PartsFit(plan, here)
    taken = [
        part_scores.take_rows(part, places, first)
        for part, first, (places, _) in zip(rows, plan.first, found, strict=True)
    ]
    model = fit.run(taken)
    here.evaluations = sum(count for _, count in found) + fit.part_evaluations + model.n_kernel_evaluations_
    return model, here


def in_parts(X, y, count, *more):
    return [
        tuple(array[part] for array in (X, y, *more)) for part in np.array_split(np.arange(len(y)), count)
    ]
