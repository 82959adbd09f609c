"""Ids of clusters that last, and clusters that respect answers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from everlearn.linkage._cluster_ids import renamed
from everlearn.linkage._constrained import cluster_records
from everlearn.linkage.answers import PairAnswers
from everlearn.linkage.clustering import average_linkage, connected_components

PARTS = st.lists(st.integers(0, 4), min_size=1, max_size=12)


def test_the_larger_part_keeps_the_id():
    before = dict(enumerate([0, 0, 0, 3, 3]))
    after, changes, next_id = renamed(before, dict(enumerate([0, 1, 1, 2, 2])), 7)
    assert after == {0: 7, 1: 0, 2: 0, 3: 3, 4: 3}
    assert (changes, next_id) == ([("split", [0], [0, 7])], 8)


def test_of_merged_clusters_the_larger_one_stays_and_of_equal_ones_the_older():
    assert renamed({0: 1, 1: 5, 2: 5}, {0: 0, 1: 0, 2: 0}, 9)[0] == {0: 5, 1: 5, 2: 5}
    assert renamed({0: 1, 1: 5}, {0: 0, 1: 0}, 9)[:2] == ({0: 1, 1: 1}, [("merge", [1, 5], [1])])


def test_new_records_alone_are_no_change():
    after, changes, next_id = renamed({0: 0, 1: None, 2: None}, {0: 0, 1: 0, 2: 1}, 4)
    assert (after, changes, next_id) == ({0: 0, 1: 0, 2: 4}, [], 5)


@given(PARTS, st.data())
def test_ids_are_those_of_the_partition_and_never_reused(old, data):
    n = len(old)
    new = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    fresh = data.draw(st.sets(st.integers(0, n - 1)))
    before = {at: None if at in fresh else old[at] for at in range(n)}
    after, changes, next_id = renamed(before, dict(enumerate(new)), 10)
    for a in range(n):
        for b in range(n):
            assert (after[a] == after[b]) == (new[a] == new[b])
    made = set(after.values()) - {cluster for cluster in before.values() if cluster is not None}
    assert made == set(range(10, next_id))
    moved = {(before[at], after[at]) for at in range(n) if at not in fresh and before[at] != after[at]}
    for was, now in moved:
        assert any(was in olds and now in news for _, olds, news in changes)
    if not moved and not changes:
        assert all(after[at] == before[at] for at in range(n) if at not in fresh)


def graph(n, seed):
    random = np.random.default_rng(seed)
    left, right = np.triu_indices(n, 1)
    keep = random.random(len(left)) < 0.5
    return left[keep], right[keep], random.random(int(keep.sum()))


def clustered(n, pairs, answers, clustering="average"):
    return cluster_records(n, *pairs, answers, clustering=clustering, eps=0.5, min_pts=2)


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["average", "components", "dbscan"]),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans()), max_size=8),
)
def test_answers_are_respected_unless_they_contradict(seed, clustering, told):
    told = [answer for answer in told if answer[0] != answer[1]]
    labels = clustered(9, graph(9, seed), told, clustering)
    last = {(min(a, b), max(a, b)): same for a, b, same in told}
    answers = PairAnswers()
    for wanted in (True, False):
        for (a, b), same in last.items():
            if same is wanted:
                answers.add(a, b, same)
    for a, b in last:
        assert (labels[a] == labels[b]) == answers.implied(a, b)
    firsts = [labels.tolist().index(cluster) for cluster in range(labels.max() + 1)]
    assert firsts == sorted(firsts)


def test_without_answers_nothing_changes():
    pairs = graph(12, 3)
    assert_array_equal(clustered(12, pairs, []), average_linkage(12, *pairs, eps=0.5))
    assert_array_equal(clustered(12, pairs, [], "components"), connected_components(12, *pairs, eps=0.5))


def test_a_cluster_that_is_split_falls_apart_where_it_is_weakest():
    left, right, distance = [0, 1, 2, 3], [1, 2, 3, 4], [0.1, 0.1, 0.4, 0.1]
    labels = clustered(5, (left, right, distance), [(0, 4, False)], "components")
    assert_array_equal(labels, [0, 0, 0, 1, 1])
