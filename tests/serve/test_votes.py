"""Votes: agreement against its definition, reliability, weights, overlap by a hash that never changes."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from everlearn.serve._votes import (
    Votes,
    answer_reliability,
    cohen,
    fleiss,
    is_shared,
    reliabilities,
    weight_of,
)
from everlearn.stream.answers import Answer, majority


def test_cohens_kappa_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    a, b = random.integers(3, size=(2, 200)).tolist()
    b = [x if agree else y for x, y, agree in zip(a, b, random.random(200) < 0.6, strict=True)]
    assert cohen(list(zip(a, b, strict=True))) == pytest.approx(cohen_kappa_score(a, b))
    assert cohen([("a", "a")]) == 1.0


def test_fleiss_kappa_is_that_of_the_paper():
    # Fleiss 1971, as printed in textbooks: 10 subjects, 14 raters, 5 categories, kappa = 0.210
    counts = [
        (0, 0, 0, 0, 14),
        (0, 2, 6, 4, 2),
        (0, 0, 3, 5, 6),
        (0, 3, 9, 2, 0),
        (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0),
        (3, 2, 6, 3, 0),
        (2, 5, 3, 2, 2),
        (6, 5, 2, 1, 0),
        (0, 2, 2, 3, 7),
    ]
    ballots = [
        dict(enumerate(label for label, count in enumerate(line) for _ in range(count))) for line in counts
    ]
    assert fleiss(ballots) == pytest.approx(0.210, abs=5e-4)
    assert fleiss([{"a": 1}]) is None


def test_a_careless_person_is_found_and_counts_less():
    random = np.random.default_rng(0)
    truth = random.integers(2, size=300)
    right = {"ada": 0.95, "bob": 0.9, "eve": 0.6}
    ballots = [
        {name: int(label if random.random() < share else 1 - label) for name, share in right.items()}
        for label in truth
    ]
    found = reliabilities(ballots, 2)
    for name, share in right.items():
        assert found[name] == pytest.approx(share, abs=0.06)
    assert weight_of(found["ada"], 2) > weight_of(found["bob"], 2) > weight_of(found["eve"], 2) > 0
    assert weight_of(0.8, 2) == weight_of(0.8, 7) == 1.0


def test_weights_decide_the_majority_and_the_first_answer_a_tie():
    votes = Votes()
    for row in range(40):
        for name in ("ada", "bob"):
            votes.give(row, name, "label", row % 2, 0.0)
        votes.give(row, "eve", "label", 0, 0.0)
    label = {"ada": "a", "eve": "b", "tom": "b"}
    answers = []
    for name in ("eve", "ada"):
        answers.append(Answer(label[name], name, votes.weight(name, "new", 2)))
        votes.give("new", name, "label", label[name], 1.0)
    assert majority(answers) == "a"  # eve always says 0
    first = Answer("x", "new 1", votes.weight("new 1", "other", 2))
    votes.give("other", "new 1", "label", "x", 2.0)
    second = Answer("y", "new 2", votes.weight("new 2", "other", 2))
    assert majority([first, second]) == "x"


def test_overlap_is_a_fraction_chosen_by_the_id_alone():
    chosen = [row for row in range(5000) if is_shared(row, 0.2)]
    assert 900 < len(chosen) < 1100
    assert set(chosen) <= {row for row in range(5000) if is_shared(row, 0.3)}
    assert chosen[:3] == [n for n in range(5000) if is_shared(n, 0.2)][:3]
    assert not any(is_shared(row, 0.0) for row in chosen)
    assert all(is_shared(row, 1.0) for row in chosen)
    # These must never change: rows would be asked again after an update.
    assert [n for n in range(30) if is_shared(n, 0.2)] == [2, 6, 17, 18, 23, 29]
    assert is_shared("1", 0.5) != is_shared(1, 0.5) or is_shared("2", 0.5) != is_shared(2, 0.5)


def test_rows_that_lack_votes_and_rows_without_a_majority():
    votes = Votes()
    votes.give("r", "ada", "label", "a", 0.0)
    assert votes.incomplete() == []
    votes.want(2, 1.0)
    assert votes.incomplete() == ["r"]
    votes.give("r", "bob", "label", "b", 0.0)
    assert votes.incomplete() == []
    assert votes.undecided() == ["r"]
    votes.give("r", "eve", "label", "b", 0.0)
    assert votes.undecided() == []
    votes.take_back("r", "eve")
    votes.give("r", "ada", "label", "b", 1.0)
    assert votes.undecided() == []
    votes.give("r", "eve", "unsure", None, 1.0)
    assert votes.answered("r", "eve") == "unsure"
    assert votes.labels_for("r") == {"bob": "b", "ada": "b"}
    assert votes.counts()[0] == {"ada": 1, "bob": 1, "eve": 1}
    votes.take_back("r", None)
    assert votes.labels_for("r") == {}
    assert votes.agreement() == {"cohen": {}, "fleiss": None, "n": 0}


def test_how_often_answers_are_right_follows_from_how_often_they_agree():
    random = np.random.default_rng(0)
    for n_classes, right in ((2, 0.9), (4, 0.8)):
        ballots = []
        for _ in range(4000):
            votes = {}
            for person in "ab":
                wrong = random.random() >= right
                votes[person] = int(random.integers(1, n_classes)) if wrong else 0
            ballots.append(votes)
        value, low, high = answer_reliability(ballots, n_classes)
        assert value == pytest.approx(right, abs=0.02)
        assert low < value < high
        few = answer_reliability(ballots[:60], n_classes)
        assert few[2] - few[1] > high - low


def test_a_few_shared_rows_and_guesses_say_nothing_about_answers():
    agree = [{"a": "x", "b": "x"}] * 19
    assert answer_reliability(agree, 2) is None
    assert answer_reliability([*agree, {"a": "x"}], 2) is None
    assert answer_reliability(agree * 2, 2)[0] == 1.0
    assert answer_reliability([{"a": "x", "b": "y"}, {"a": "x", "b": "x"}] * 50, 2) is None


def test_rows_share_what_one_person_said_and_still_change_alone():
    votes = Votes()
    for row in range(1000):
        votes.give(row, "ada", "label", "a", 0.0)
        votes.give(row, "bob", "skip", None, 0.0)
    assert len({id(ballot) for table in (votes.ballots, votes.others) for ballot in table.values()}) == 2
    votes.give(0, "eve", "label", "b", 0.0)
    votes.give(1, "ada", "label", "b", 0.0)
    votes.take_back(2, "ada")
    assert votes.labels_for(0) == {"ada": "a", "eve": "b"}
    assert (votes.labels_for(1), votes.labels_for(2), votes.labels_for(3)) == ({"ada": "b"}, {}, {"ada": "a"})
    for row, label in ((4, 1), (5, True), (6, "1")):
        votes.give(row, "ada", "label", label, 0.0)
        assert type(votes.labels_for(row)["ada"]) is type(label)
    assert votes.counts()[0] == {"ada": 1000 - 1, "bob": 1000, "eve": 1}
