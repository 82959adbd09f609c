import numpy as np
import pytest
from sklearn.base import clone

from everlearn import LASVM, VIRTUAL, query
from everlearn.datasets import make_author_records
from everlearn.linkage import ActiveLinker, AuthorName, Blocking, Pairs, PairwiseLinker, Records, pair_scores
from everlearn.query.stopping import CostOfLabel, LabelBudget, MarginExhausted, SupportSaturation

NAMES = {"J. Smith": (80, 10), "C. Chen": (60, 12)}


@pytest.fixture(scope="module")
def authors():
    table, person = make_author_records(NAMES, scale=1, random_state=4)
    return Records(table), person


def loop_for(**options):
    return ActiveLinker(PairwiseLinker(blocking=Blocking(AuthorName())), random_state=0, **options)


def f1(loop, person):
    truth = person[loop.pairs.left] == person[loop.pairs.right]
    return pair_scores(truth, loop.linker.predict_pairs(loop.pairs).match).f1


def test_few_questions_suffice_and_beat_random_ones(authors):
    records, person = authors
    asked = loop_for().run(records, oracle=person, max_labels=120)
    drawn = loop_for(query_strategy=query.Random()).run(records, oracle=person, max_labels=120)
    assert (asked.n_answers, drawn.n_answers) == (120, 120)
    assert f1(asked, person) > max(0.85, f1(drawn, person))
    assert asked.contradictions == []


def test_what_follows_from_answers_is_not_asked(authors):
    records, person = authors
    loop = loop_for().start(records)
    known = []
    for _ in range(150):
        (question,) = loop.ask()
        a, b = int(loop.pairs.left[question.id]), int(loop.pairs.right[question.id])
        groups = np.arange(len(person))
        for x, y in known:  # by search: no chain of matches connects what is asked
            groups[groups == groups[y]] = groups[x]
        assert groups[a] != groups[b]
        same = bool(person[a] == person[b])
        known += [(a, b)] if same else []
        loop.tell(question.id, same)
    assert loop.n_implied > 0
    assert len(loop.history) == loop.n_answers + loop.n_implied


def test_a_contradiction_is_shown(authors):
    records, _ = authors
    pairs = Pairs(np.array([0, 1, 0, 0]), np.array([1, 2, 2, 3]))
    loop = loop_for().start(records, pairs=pairs)
    loop.tell([0, 1, 2], [True, True, False])
    assert [str(found) for found in loop.contradictions] == ["0 ≠ 2 contradicts 0 = 1, 1 = 2"]


def test_a_question_shows_both_records(authors):
    records, _ = authors
    (question,) = loop_for().start(records).ask()
    assert set(question.left) == set(records.schema)
    assert question.differs == [name for name in question.left if question.left[name] != question.right[name]]
    assert "similar" in question.reason


def test_first_questions_find_both_classes_among_rare_matches(authors):
    records, person = authors
    loop = loop_for().run(records, oracle=person, max_labels=10)
    labels = {record["label"] for record in loop.history}
    assert labels == {0, 1}


def test_unknown_answers_and_batches(authors):
    records, _ = authors
    loop = loop_for().start(records)
    questions = loop.ask(5)
    assert len({question.id for question in questions}) == 5
    loop.tell([question.id for question in questions], [None, True, False, None, True])
    assert loop.n_answers == 3
    again = loop.ask(20)
    assert not {question.id for question in questions} & {question.id for question in again}


def test_a_run_is_reproducible_and_stops_by_its_rule(authors):
    records, person = authors
    runs = [loop_for(stopping=LabelBudget(40)).run(records, oracle=person, max_labels=100) for _ in range(2)]
    rows = [[record["row"] for record in loop.history] for loop in runs]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 40
    assert "40" in runs[0].stop_reason


def test_questions_that_would_merge_or_split_clusters_are_an_option(authors):
    records, person = authors
    loop = loop_for(prefer="clusters").run(records, oracle=person, max_labels=120)
    assert f1(loop, person) > 0.8
    loop = loop_for(prefer="clusters").start(records)
    asked = []
    while len(asked) < 60:
        (question,) = loop.ask()
        ends = loop.pairs.left[question.id], loop.pairs.right[question.id]
        if "merge or split" in question.reason:
            clusters = loop.link().clusters
            sizes = [(clusters == clusters[end]).sum() for end in ends]
            asked.append((sizes[0] > 1 or sizes[1] > 1, clusters[ends[0]] == clusters[ends[1]]))
        loop.tell(question.id, bool(person[ends[0]] == person[ends[1]]))
    assert np.mean([large for large, _ in asked]) > 0.8
    assert 0.1 < np.mean([together for _, together in asked]) < 0.9
    with pytest.raises(ValueError, match="prefer must be 'boundary' or 'clusters', got 'merges'"):
        loop_for(prefer="merges").start(records)


@pytest.mark.parametrize(
    "learner",
    [
        VIRTUAL(C=10, kernel="laplacian", gamma="auto", random_state=0),
        LASVM(C=10, kernel="laplacian", gamma="auto", class_weight="balanced"),
        LASVM(C=10, kernel="laplacian", gamma="auto", class_weight={0: 1, 1: 5}),
    ],
    ids=repr,
)
def test_learners_for_rare_matches_ask_as_the_default_does(authors, learner):
    records, person = authors
    linker = PairwiseLinker(learner, blocking=Blocking(AuthorName()))
    loop = ActiveLinker(linker, random_state=0).run(records, oracle=person, max_labels=120)
    assert loop.n_answers == 120
    assert f1(loop, person) > 0.75
    labels = np.array([record["label"] for record in loop.history])
    rows = linker.transform(loop.pairs[[record["row"] for record in loop.history]])
    found = loop.link().predictions.match
    again = clone(learner).fit(rows, labels).predict(linker.transform(loop.pairs)) == 1
    assert (found == again).mean() > 0.97  # the last labels are learned, too


@pytest.mark.parametrize(
    "strategy",
    [
        query.Auto(),
        query.Auto(reask_every=5),
        query.Margin(),
        query.AutoMargin(),
        query.Submodular(),
        query.Random(),
        query.All(),
    ],
    ids=repr,
)
def test_every_query_strategy_asks_about_pairs(authors, strategy):
    records, person = authors
    loop = loop_for(query_strategy=strategy).run(records, oracle=person, max_labels=40)
    assert loop.n_answers == 40
    assert f1(loop, person) > 0.5


@pytest.mark.parametrize(
    "rule",
    [
        LabelBudget(3),
        LabelBudget(60),
        MarginExhausted(),
        SupportSaturation(20, 0.1),
        CostOfLabel(metric="estimate", window=20),
        SupportSaturation() & MarginExhausted() | LabelBudget(80),
    ],
    ids=repr,
)
def test_every_stopping_rule_ends_the_questions(authors, rule):
    records, person = authors
    rule = clone(rule)
    strategy = query.Random() if isinstance(rule, CostOfLabel) else None  # it needs random rows
    pairs = Blocking(AuthorName()).pairs(records)
    some = pairs[np.random.default_rng(2).permutation(len(pairs))[:300]]
    loop = loop_for(stopping=rule, query_strategy=strategy)
    loop.run(records, oracle=person, max_labels=250, pairs=some)
    assert rule.verdict().stop
    assert 3 <= loop.n_answers < 250
    assert loop.ask() == []
    assert loop.stop_reason == rule.verdict().reason


def test_two_tables_and_an_oracle_that_sees_the_question(authors):
    records, person = authors
    table = [records[i] for i in range(len(records))]
    half = len(table) // 2
    order = np.random.default_rng(0).permutation(len(table))
    left, right = ([table[i] for i in part] for part in (order[:half], order[half:]))
    truth = person[order[:half]], person[order[half:]]
    loop = loop_for().run(left, right, oracle=truth, max_labels=60)
    matches = truth[0][loop.pairs.left] == truth[1][loop.pairs.right]

    def answer(question):
        return bool(matches[question.id])

    other = loop_for().run(left, right, oracle=answer, max_labels=60)
    assert [r["row"] for r in loop.history] == [r["row"] for r in other.history]
    assert len(loop.link().clusters) == len(table)


def test_bad_input_is_refused(authors):
    records, _ = authors
    with pytest.raises(ValueError, match="call start"):
        loop_for().ask()
    with pytest.raises(ValueError, match="0 candidate pairs: no two records share a key"):
        loop_for().start(Records({"name": ["a b", "c d"]}))
    loop = loop_for().start(records)
    with pytest.raises(ValueError, match="ids has -1"):
        loop.tell(-1, True)


def test_a_model_that_takes_too_many_pairs_for_matches_is_corrected(authors):
    records, person = authors
    reasons = {}
    loop = loop_for().start(records)
    while loop.n_answers < 60:
        (question,) = loop.ask()
        reasons[question.reason.split(" (")[0]] = reasons.get(question.reason.split(" (")[0], 0) + 1
        a, b = loop.pairs.left[question.id], loop.pairs.right[question.id]
        loop.tell(question.id, bool(person[a] == person[b]))
    assert reasons["a random pair of those taken for a match"] >= 10
    assert any(reason.startswith("near the boundary") for reason in reasons)


def test_an_oracle_that_never_knows_ends_the_run(authors):
    records, _ = authors
    pairs = Pairs(np.arange(5), np.arange(5) + 10)
    loop = loop_for().run(records, oracle=lambda question: None, max_labels=10, pairs=pairs)
    assert loop.n_answers == 0
    assert "no more labels" in loop.stop_reason
