import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everlearn.linkage import PairAnswers, contradictions


@given(st.lists(st.integers(0, 2), min_size=2, max_size=8), st.randoms(use_true_random=False))
def test_consistent_answers_imply_only_what_is_true(people, random):
    pairs = list(itertools.combinations(range(len(people)), 2))
    random.shuffle(pairs)
    answers = PairAnswers()
    for a, b in pairs:
        for x, y in pairs:
            assert answers.implied(x, y) in (None, people[x] == people[y])
        assert answers.add(a, b, people[a] == people[b]) is None
        assert answers.implied(b, a) is (people[a] == people[b])
    assert answers.contradictions == []


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=20))
def test_what_is_implied_is_what_a_search_finds(told):
    answers, accepted = PairAnswers(), []
    for a, b, same in told:
        if a != b and answers.add(a, b, same) is None:
            accepted.append((a, b, same))
    near = np.eye(6, dtype=bool)
    for a, b, same in accepted:
        near[a, b] = near[b, a] = near[a, b] or same
    for _ in range(6):
        near = near @ near
    apart = np.zeros((6, 6), dtype=bool)
    for a, b, same in accepted:
        if not same:
            apart |= np.outer(near[a], near[b]) | np.outer(near[b], near[a])
    for a, b in itertools.product(range(6), repeat=2):
        assert answers.implied(a, b) == (True if near[a, b] else False if apart[a, b] else None)
    for found in answers.contradictions:
        assert set(found.because) <= {(a, b, s) for a, b, s in accepted} | {(b, a, s) for a, b, s in accepted}
        assert sum(not same for *_, same in found.because) == int(found.answer)


def test_a_contradiction_shows_the_chain():
    answers = PairAnswers()
    for pair in ((1, 2, True), (3, 4, True), (2, 3, False)):
        answers.add(*pair)
    assert str(answers.add(1, 4, True)) == "1 = 4 contradicts 1 = 2, 2 ≠ 3, 3 = 4"
    assert answers.implied(1, 4) is False  # it has no consequences


def test_contradictions_of_labels_do_not_depend_on_their_order():
    pairs, same = [(0, 2), (0, 1), (1, 2)], [False, True, True]
    for order in itertools.permutations(range(3)):
        found = contradictions([pairs[i] for i in order], [same[i] for i in order])
        assert [(c.left, c.right, c.answer) for c in found] == [(0, 2, False)]
    assert len(contradictions([(0, 1), (0, 1)], [True, False])) == 1
