"""What the tests of never-ending linkage share: records, linkers, and answers by the truth."""

import numpy as np

from everlearn.datasets import make_author_records
from everlearn.linkage import AuthorName, Blocking, b_cubed_scores
from everlearn.linkage.never_ending import NeverEndingLinker

NAMES = {"J. Smith": (40, 6), "M. Jones": (30, 6), "C. Chen": (26, 6)}
PEOPLE = [
    {"id": "a", "name": "Ann Lee", "city": "Rome"},
    {"id": "b", "name": "Anne Lee", "city": "Rome"},
    {"id": "c", "name": "Bob Ray", "city": "Oslo"},
    {"id": "d", "name": "Bob Rae", "city": "Oslo"},
    {"id": "e", "name": "Ann Ley", "city": "Rome"},
    {"id": "f", "name": "Rob Ray", "city": "Oslo"},
]


def some_authors():
    table, person = make_author_records(NAMES, scale=1, random_state=3)
    order = np.random.default_rng(0).permutation(len(table))
    return [table[at] for at in order], person[order]


def opened(store=":memory:", **options):
    return NeverEndingLinker.open(store, blocking=Blocking(AuthorName()), **options)


def people(store=":memory:", **options):
    return NeverEndingLinker.open(store, blocking=Blocking("city"), **options)


def asked(linker, person, n):
    """Answer questions by the truth; the answers, by numbers of records."""
    given = []
    for _ in range(n):
        for question in linker.ask(1):
            same = bool(person[question.left_id] == person[question.right_id])
            linker.tell(question.id, same)
            given.append((question.left_id, question.right_id, same))
    return given


def f1(person, clusters):
    return b_cubed_scores([person[record] for record in clusters], list(clusters.values())).f1


def groups(clusters):
    found = {}
    for record, cluster in clusters.items():
        found.setdefault(cluster, set()).add(record)
    return sorted(map(sorted, found.values()))


def content(linker):
    """Pairs with their features, labels of people, decision values and clusters, all by id."""
    linked = linker.learner.linked
    clusters = linker.link()
    names = {number: given for number, given, *_ in linked.all_records()}
    pairs, scores = {}, {}
    for block in linked.all_pairs():
        compared = block.at(np.flatnonzero(block.n_keys))
        values = linker.score(compared.features)
        for at, (a, b) in enumerate(zip(compared.left.tolist(), compared.right.tolist(), strict=True)):
            pairs[names[a], names[b]] = compared.n_keys[at], compared.features[at].tobytes()
            scores[names[a], names[b]] = values[at]
    return groups(clusters), pairs, scores
