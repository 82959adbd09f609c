"""Learners in a store of records that learn all answers at once, such as VIRTUAL, and those refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from everlearn import IDSVM, VIRTUAL
from everlearn.errors import InputError, StoreError
from everlearn.linkage.never_ending import NeverEndingLinker
from linkage.never_ending_helpers import asked, content, f1, opened, people, some_authors


def virtual():
    return VIRTUAL(C=10, kernel="laplacian", gamma="auto", n_virtual=2)


@pytest.fixture(scope="module")
def authors():
    return some_authors()


def test_virtual_decides_about_clusters_by_all_answers(tmp_path, authors):
    table, person = authors
    with opened(tmp_path / "authors.everlearn", learner=virtual()) as linker:
        linker.add(table)
        given = asked(linker, person, 60)
        clusters = linker.link()
        assert f1(person, clusters) > 0.9
        pairs = linker.learner.linked.labeled_pairs()
        people_said = {(a, b): same for a, b, same in given}
        chosen = [
            at for at, ends in enumerate(zip(pairs.left, pairs.right, strict=True)) if ends in people_said
        ]
        labels = np.array(["same" if pairs.same[at] else "different" for at in chosen])
        features = pairs.features[chosen].astype(float)
        by_hand = virtual().set_params(random_state=0).fit(features, labels)
        assert by_hand.n_virtual_ > 0
        every = next(linker.learner.linked.all_pairs()).features
        assert_allclose(linker.score(every), by_hand.decision_function(every.astype(float)), atol=1e-9)
    with opened(tmp_path / "authors.everlearn") as linker:  # the store knows its learner
        assert linker.clusters() == clusters
        assert linker.link() == clusters


def test_with_virtual_parts_and_forgetting_leave_what_one_part_gives(authors):
    table, person = authors
    rows = [{"id": at, **record} for at, record in enumerate(table)]
    gone = [3, 50]
    with opened(learner=virtual()) as parts, opened(learner=virtual()) as once:
        for first in range(0, len(rows), 16):
            parts.add(rows[first : first + 16])
        given = asked(parts, person, 40)
        parts.forget(gone)
        once.add([row for row in rows if row["id"] not in gone])
        for a, b, same in given:
            if not {a, b} & set(gone):
                once.answer(a, b, same)
        (groups, pairs, scores), (others, same_pairs, same_scores) = content(parts), content(once)
        assert (groups, pairs) == (others, same_pairs)
        assert scores == pytest.approx(same_scores, abs=1e-9)


def test_virtual_learns_from_one_answer_of_each_kind():
    with people(learner=virtual()) as linker:
        linker.add([{"id": i, "name": name, "city": "Rome"} for i, name in enumerate(["Ann", "Anne", "Bo"])])
        linker.answer(0, 1, True)
        linker.answer(0, 2, False)
        assert linker.link() == {0: 0, 1: 0, 2: 2}


@pytest.mark.parametrize("learner", [SVC(), RandomForestClassifier(), 3])
def test_learners_that_no_store_can_keep_are_refused_in_words(tmp_path, learner):
    with pytest.raises(TypeError, match="cannot be kept in a store: use a learner of everlearn"):
        NeverEndingLinker.open(tmp_path / "a.everlearn", learner=learner)
    assert not list(tmp_path.iterdir())


def test_the_learner_of_a_store_asks_itself(authors):
    table, person = authors

    def questions(learner):
        with opened(learner=learner) as linker:
            linker.add(table)
            return [answer[:2] for answer in asked(linker, person, 30)]

    plain = questions(None)
    assert questions(None) == plain
    assert questions(IDSVM(C=10, kernel="rbf", gamma=20)) != plain


KEPT = {"none": lambda: None, "virtual": virtual, "smooth": lambda: IDSVM(C=3)}


@pytest.mark.parametrize("kept", KEPT)
def test_a_store_has_one_learner(tmp_path, kept):
    default = IDSVM(C=10, kernel="laplacian", gamma="auto", class_weight={"different": 1, "same": 2})
    others = {**KEPT, "default": lambda: default, "C=3": lambda: virtual().set_params(C=3)}
    with people(tmp_path / "a.everlearn", learner=KEPT[kept]()) as linker:
        linker.add([{"id": i, "name": name, "city": "Rome"} for i, name in enumerate(["Ann", "Anne"])])
        untrained, state = repr(linker.learner.untrained), linker.status()
    refused = "was created with learner=|is not that of"
    same = {"none", kept, "default"} if kept == "none" else {"none", kept}
    for name, make in others.items():
        for create in (True, False):
            if name in same:
                with people(tmp_path / "a.everlearn", learner=make(), create=create) as linker:
                    assert (repr(linker.learner.untrained), linker.status()) == (untrained, state)
            else:
                with pytest.raises((InputError, StoreError), match=refused):
                    people(tmp_path / "a.everlearn", learner=make(), create=create)
