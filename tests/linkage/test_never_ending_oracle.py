"""However records and answers came and went, the result is that of a new store with what is left."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from everlearn.linkage import AuthorName, Blocking, NeverEndingLinker, Tokens, b_cubed_scores
from linkage.never_ending_helpers import asked, content, f1, some_authors

TABLE, PERSON = some_authors()
RECORDS = [{"id": at, **row} for at, row in enumerate(TABLE)]
# Blocks that become too large when records arrive, and small enough again when records are forgotten.
BLOCKING = Blocking(AuthorName(), Tokens("affiliation"), Tokens("name"), max_block_size=60)
SMALL = Blocking(Tokens("affiliation"), Tokens("email"), max_block_size=7)
SCHEMA = {"name": "name", "email": "email", "affiliation": "text", "address": "address"}


def opened(blocking, **options):
    return NeverEndingLinker.open(":memory:", SCHEMA, blocking=blocking, **options)


def rebuilt(ids, answers, blocking, **options):
    with opened(blocking, **options) as linker:
        linker.add([RECORDS[at] for at in ids])
        for (a, b), same in sorted(answers.items()):
            linker.answer(a, b, same)
        return content(linker)


class Run:
    """A linker, and what should be left in it."""

    def __init__(self, linker):
        self.linker, self.ids, self.answers, self.next = linker, [], {}, 0

    def add(self, n):
        self.ids += list(range(self.next, min(self.next + n, len(RECORDS))))
        self.linker.add(RECORDS[self.next : self.next + n])
        self.next = min(self.next + n, len(RECORDS))

    def ask(self, n):
        for a, b, same in asked(self.linker, PERSON, n):
            self.answers[min(a, b), max(a, b)] = same

    def answer(self, seed):
        random = np.random.default_rng(seed)
        if len(self.ids) > 1:
            a, b = sorted(random.choice(self.ids, 2, replace=False).tolist())
            self.answers[a, b] = bool(PERSON[a] == PERSON[b]) != (random.random() < 0.2)  # some are wrong
            self.linker.answer(a, b, self.answers[a, b])

    def withdraw(self, seed):
        if self.answers:
            pair = sorted(self.answers)[seed % len(self.answers)]
            del self.answers[pair]
            self.linker.answer(*pair, None)

    def forget(self, seed):
        random = np.random.default_rng(seed)
        gone = random.permutation(self.ids)[: 1 + seed % 3].tolist()
        self.linker.forget(gone)
        self.ids = [at for at in self.ids if at not in gone]
        self.answers = {pair: same for pair, same in self.answers.items() if not {*pair} & {*gone}}

    def link(self, _):
        self.linker.link()


def compare(run, blocking, **options):
    found, expected = content(run.linker), rebuilt(run.ids, run.answers, blocking, **options)
    assert found[1] == expected[1]  # pairs and features, bit for bit
    assert found[2] == expected[2]  # decision values
    assert found[0] == expected[0]  # clusters


STEP = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 40)),
    st.tuples(st.just("ask"), st.integers(1, 8)),
    st.tuples(st.sampled_from(["answer", "withdraw", "forget", "link"]), st.integers(0, 1000)),
)


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a run takes long: failures are not shrunk
)
@given(st.sampled_from([BLOCKING, SMALL]), st.lists(STEP, min_size=4, max_size=14))
def test_any_history_ends_where_what_is_left_does(blocking, steps):
    with opened(blocking) as linker:
        run = Run(linker)
        run.add(30)
        for name, value in steps:
            getattr(run, name)(value)
        compare(run, blocking)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("clustering", ["average", "dbscan"])
def test_forgetting_some_records_leaves_what_a_run_without_them_gives(seed, clustering):
    random = np.random.default_rng(seed)
    with opened(BLOCKING, clustering=clustering) as linker:
        run = Run(linker)
        for _ in range(3):
            run.add(32)
            run.ask(15)
        gone = random.permutation(run.ids)[: 1 + 4 * seed].tolist()
        linker.forget(gone)
        run.ids = [at for at in run.ids if at not in gone]
        run.answers = {pair: same for pair, same in run.answers.items() if not {*pair} & {*gone}}
        compare(run, BLOCKING, clustering=clustering)
        assert linker.status()["records"] == 96 - len(gone)


def test_ten_parts_end_where_all_at_once_does():
    with opened(BLOCKING) as linker:
        run = Run(linker)
        for _ in range(10):
            run.add(10)
            run.ask(7)
        found = linker.link()
        compare(run, BLOCKING)
    assert f1(PERSON, found) > 0.85


def test_questions_in_parts_are_as_good_as_questions_about_all():
    with opened(BLOCKING) as parts, opened(BLOCKING) as once:
        for part in np.array_split(np.arange(len(RECORDS)), 10):
            parts.add([RECORDS[at] for at in part])
            asked(parts, PERSON, 8)
        once.add(RECORDS)
        asked(once, PERSON, 80)
        found, expected = parts.link(), once.link()
    assert abs(f1(PERSON, found) - f1(PERSON, expected)) < 0.05
    assert b_cubed_scores(list(expected.values()), list(found.values())).f1 > 0.9
