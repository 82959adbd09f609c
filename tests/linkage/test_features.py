"""Similarities of pairs, against the plain twin in tests/reference/linkage.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from everlearn._base import persist
from everlearn.datasets import make_author_records
from everlearn.linkage import AuthorName, Blocking, PairFeatures, Records, _strings
from everlearn.linkage._similarities import TokenTable, containments, jaccards, soft_tfidf
from everlearn.linkage._statistics import FieldStatistics
from everlearn.linkage._text import ascii_tokens, number_form, soundex, tokens
from reference import linkage as plain

WORDS = st.text(alphabet="abcde", max_size=9)
NAMES = st.lists(
    st.lists(st.text(alphabet="abcj", min_size=1, max_size=6), max_size=4).map(" ".join),
    min_size=2,
    max_size=8,
)


# --------------------------------------------------------------------------------------------------- strings


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("martha", "marhta", 0.9611), ("dixon", "dicksonx", 0.8133), ("j", "john", 0.775)],
)
def test_jaro_winkler_has_the_published_values(a, b, expected):
    assert_allclose(_strings.jaro_winkler_similarities([a], [b]), [expected], atol=5e-5)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=20))
def test_string_similarities_are_those_of_the_definition(pairs):
    left, right = zip(*pairs, strict=True)
    assert_allclose(
        _strings.jaro_winkler_similarities(left, right),
        [plain.jaro_winkler(a, b) for a, b in pairs],
        atol=1e-12,
    )
    assert_allclose(
        _strings.edit_similarities(left, right), [plain.edit_similarity(a, b) for a, b in pairs], atol=1e-12
    )


def test_an_odd_number_of_transposed_letters_is_not_rounded():
    # Three matched letters are in other places, so one and a half transpositions.
    assert_allclose(
        _strings.jaro_winkler_similarities(["xxabcyy"], ["xxbcayy"]), plain.jaro_winkler("xxabcyy", "xxbcayy")
    )
    assert plain.jaro("xxabcyy", "xxbcayy") == pytest.approx((1 + 1 + 5.5 / 7) / 3)


def test_edit_distances_are_the_same_without_rapidfuzz(monkeypatch):
    rng = np.random.default_rng(0)
    left, right = (
        ["".join(rng.choice(list("abcdé"), rng.integers(0, 12))) for _ in range(300)] for _ in range(2)
    )
    fast = _strings.edit_similarities(left, right)
    monkeypatch.setattr(_strings, "_process", None)
    assert_array_equal(_strings.edit_similarities(left, right), fast)


def test_many_pairs_of_mixed_lengths_keep_their_places():
    rng = np.random.default_rng(1)
    left, right = (
        ["".join(rng.choice(list("abc"), rng.integers(0, 30))) for _ in range(9000)] for _ in range(2)
    )
    found = _strings.jaro_winkler_similarities(left, right)
    for i in rng.integers(9000, size=200):
        assert found[i] == pytest.approx(plain.jaro_winkler(left[i], right[i]), abs=1e-12)


@given(WORDS, WORDS, WORDS)
def test_edit_distance_is_a_metric(a, b, c):
    d = _strings.edit_distance
    assert d(a, a) == 0
    assert d(a, b) == d(b, a)
    assert d(a, c) <= d(a, b) + d(b, c)


# ---------------------------------------------------------------------------------------------------- tokens


def test_tokens_of_any_script():
    assert tokens("Café CS3, v7.0 東京 Иван") == ["cafe", "cs", "3", "v", "7.0", "東京", "иван"]
    assert ascii_tokens("J. O'Neil-3") == ["j", "o", "neil", "3"]
    found = [form for token in tokens("v7.0 and 007, 1,000 1.234,50 9,99") for form in number_form(token)]
    assert found == ["7", "7", "1000", "1234.5", "9.99"]


@pytest.mark.parametrize(
    ("name", "code"),
    [("Robert", "r163"), ("Rupert", "r163"), ("Ashcraft", "a261"), ("Tymczak", "t522"), ("李", "李")],
)
def test_soundex_has_the_published_codes(name, code):
    assert soundex(name) == code


@given(NAMES)
@settings(max_examples=60)
def test_soft_tfidf_is_that_of_the_definition(names):
    table = TokenTable.of([ascii_tokens(name) for name in names], np.ones(len(names), dtype=np.intp))
    left, right = np.triu_indices(len(names))
    expected = [plain.soft_tfidf(names[i], names[j], names) for i, j in zip(left, right, strict=True)]
    assert_allclose(soft_tfidf(table, left, right), expected, atol=1e-9)
    assert_allclose(soft_tfidf(table, right, left), expected, atol=1e-9)


def test_soft_tfidf_ignores_the_order_of_tokens_and_is_one_on_equal_names():
    names = ["john a smith", "smith john a", "jon smith"]
    table = TokenTable.of([ascii_tokens(name) for name in names], np.ones(3, dtype=np.intp))
    same, near = soft_tfidf(table, np.array([0, 0]), np.array([1, 2]))
    assert same == pytest.approx(1)
    assert 0.5 < near < 1


def test_sets():
    table = TokenTable.of([["a", "b"], ["b", "c", "c"], [], []], np.ones(4, dtype=np.intp))
    left, right = np.array([0, 0, 2]), np.array([1, 2, 3])
    assert_allclose(jaccards(table, left, right), [1 / 3, 0, 1])
    assert_allclose(containments(table, left[:1], right[:1]), table.idf[1] / (table.idf[0] + table.idf[1]))


# ------------------------------------------------------------------------------------- features of the thesis


def test_thesis_features_are_those_of_the_definition():
    table, _ = make_author_records({"J. Smith": (30, 6), "K. Tanaka": (20, 5)}, scale=1, random_state=3)
    table += [{"name": "", "email": "a@b", "url": "", "affiliation": "x", "address": "y"}] * 2
    records = Records(table)
    pairs = Blocking(AuthorName()).pairs(records)
    features = PairFeatures("thesis").fit(records)
    X = features.transform(pairs.left, pairs.right)
    by_block = {}
    for record in table:
        by_block.setdefault(plain.block_key(record["name"]), []).append(record["name"])
    expected = [
        plain.thesis_vector(table[a], table[b], by_block[plain.block_key(table[a]["name"])])
        for a, b in zip(pairs.left, pairs.right, strict=True)
    ]
    assert len(pairs) == 30 * 29 // 2 + 20 * 19 // 2  # an empty name is compared with none
    assert_allclose(X, expected, atol=1e-9)
    assert_array_equal(features.transform(pairs.right, pairs.left), X)
    assert set(np.unique(X[:, 5:])) <= {0.0, 1.0}
    assert [name.split(":")[0] for name in features.names[5:]] == ["email", "url", "affiliation", "address"]


def test_thesis_features_refuse_other_fields_and_pairs_across_blocks():
    with pytest.raises(ValueError, match=r"needs the fields name.*url, affiliation, address is missing"):
        PairFeatures("thesis").fit(Records({"name": ["a"], "email": ["b"]}))
    table, _ = make_author_records({"J. Smith": (2, 1), "K. Tanaka": (2, 1)}, scale=1)
    features = PairFeatures("thesis").fit(Records(table))
    with pytest.raises(ValueError, match="within a block only"):
        features.transform([0], [2])


# ----------------------------------------------------------------------------------------- default features

ROWS = {
    "name": ["Ann Lee", "Lee, Ann", "", "李 明", "O"],
    "about": ["red bike 26 inch", "bike, red, 26", "blue", "", "!!!"],
    "mail": ["ann@x.org", "ann@y.org", "", "bob@x.org", "c@z.com"],
    "site": ["http://x.org/a", "https://x.org/a", "www.y.com", "", "http://z.com"],
    "born": ["1980-02-01", "1980-02-03", "", "01.02.1980", "1999-12-31"],
    "price": ["1,000.50", "$1000.5", "", "0", "-3"],
    "color": ["red", "RED", "", "blue", "red"],
    "street": ["1 Oak St", "2 Oak St", "", "1 Elm Rd", "9"],
}
SCHEMA = dict(
    zip(ROWS, ["name", "text", "email", "url", "date", "number", "category", "address"], strict=True)
)


def all_pairs(features, n):
    left, right = (side.ravel() for side in np.indices((n, n)))
    return left, right, features.transform(left, right)


def test_default_features_are_symmetric_similarities_with_flags():
    records = Records(ROWS, SCHEMA)
    features = PairFeatures().fit(records)
    left, right, X = all_pairs(features, 5)
    assert X.shape == (25, len(features.names))
    assert np.isfinite(X).all()
    assert X.min() >= 0
    assert X.max() <= 1
    assert_array_equal(X, features.transform(right, left))
    for name in ROWS:
        flag = X[:, features.names.index(f"{name}: missing")]
        empty = np.array([not value for value in ROWS[name]])
        assert_array_equal(flag, empty[left] | empty[right])
        columns = [i for i, known in enumerate(features.names) if known.startswith(f"{name}:")]
        assert not X[np.ix_(flag == 1, columns[:-1])].any()


def test_default_features_say_what_they_should():
    features = PairFeatures().fit(Records(ROWS, SCHEMA))
    by_name = dict(zip(features.names, features.transform([0], [1])[0], strict=True))
    assert by_name["name: soft_tfidf"] == pytest.approx(1)  # the order of words does not matter
    assert by_name["name: jaro_winkler"] == 1
    assert by_name["about: numbers"] == 1
    assert by_name["color: equal"] == 1
    assert by_name["price: ratio"] == 1
    assert by_name["mail: local"] == 1
    assert by_name["mail: edit"] == pytest.approx(8 / 9)
    assert by_name["born: closeness"] == pytest.approx(1 / (1 + 2 / 365.25))
    assert by_name["street: jaccard"] == pytest.approx(0.5)
    third = dict(zip(features.names, features.transform([0], [3])[0], strict=True))
    assert third["born: closeness"] == 1  # the same day in another order


def test_values_go_with_each_other_that_occur_in_records_which_agree_elsewhere():
    titles = [f"a study of topic {i} in depth" for i in range(12)]
    left = {"title": titles, "venue": ["vldb", "sigmod"] * 6}
    right = {"title": titles, "venue": ["very large data bases", "management of data"] * 6}
    schema = {"title": "text", "venue": "category"}
    features = PairFeatures().fit(Records(left, schema), Records(right, schema))
    column = features.names.index("venue: goes_with")
    X = features.transform([0, 0, 1, 1], [0, 1, 0, 1])
    assert_allclose(X[:, column], [1, 0, 0, 1])
    # Without records that agree elsewhere, only equal values go with each other.
    alone = PairFeatures().fit(Records({"title": list("abcd"), "venue": ["x", "X", "y", ""]}, schema))
    assert_allclose(alone.transform([0, 0, 0], [1, 2, 3])[:, column], [1, 0, 0])


def test_duplicates_in_one_table_show_which_values_go_with_each_other():
    titles = [f"title number {i // 2}" for i in range(12)]
    venues = ["vldb", "very large data bases"] * 3 + ["sigmod", "management of data"] * 3
    features = PairFeatures().fit(Records({"t": titles, "v": venues}, {"t": "text", "v": "category"}))
    column = features.names.index("v: goes_with")
    found = features.transform([0, 0, 0], [1, 7, 2])[:, column]
    assert found[0] == pytest.approx(1)
    assert found[1] == 0  # of different papers
    assert found[2] == 0  # of no two records of one paper


def test_two_tables_give_what_one_gives():
    whole = PairFeatures(rivals=False).fit(Records(ROWS, SCHEMA))
    halves = [
        Records({name: column[part] for name, column in ROWS.items()}, SCHEMA)
        for part in (slice(2), slice(2, 5))
    ]
    two = PairFeatures(rivals=False).fit(*halves)
    assert_allclose(two.transform([0, 1], [1, 2]), whole.transform([0, 1], [3, 4]))


RIVALS = ["record: closest_of_both", "record: closest_of_one"]


def rivals_by_definition(cosine, one_table):
    """The cosine of each pair over the largest one of either record with another."""
    others = np.where(np.eye(len(cosine), dtype=bool), 0, cosine) if one_table else cosine
    ratios = []
    for best in (others.max(axis=1)[:, None], others.max(axis=0)[None, :]):
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios.append(np.where(best > 0, cosine / best, 1.0))
    return np.minimum(np.minimum(*ratios), 1), np.minimum(np.maximum(*ratios), 1)


@pytest.mark.parametrize("one_table", [True, False])
def test_rivals_are_those_of_the_definition(one_table, monkeypatch):
    monkeypatch.setattr("everlearn.linkage._similarities._ROWS_AT_ONCE", 7)  # several blocks
    rng = np.random.default_rng(0)
    words = [f"w{chr(97 + i)}" for i in range(20)]
    texts = [" ".join(rng.choice(words, size=5)) for _ in range(30)] + ["alone"]
    schema = {"about": "text"}
    first, second = Records({"about": texts}, schema), Records({"about": texts[3:25]}, schema)
    tables = (first,) if one_table else (first, second)
    features = PairFeatures().fit(*tables)
    left, right = (side.ravel() for side in np.indices((len(first), len(tables[-1]))))
    X = features.transform(left, right)
    columns = {name: X[:, i].reshape(len(first), -1) for i, name in enumerate(features.names)}
    expected = rivals_by_definition(columns["record: tfidf"], one_table)
    for name, values in zip(RIVALS, expected, strict=True):
        compared = ~np.eye(len(values), dtype=bool) if one_table else slice(None)
        assert_allclose(columns[name][compared], values[compared], atol=1e-9)


def test_a_pair_is_worth_less_if_both_records_have_better_partners():
    left = Records({"title": ["editorial of march", "editorial of june", "graphs"]}, {"title": "text"})
    right = Records({"title": ["editorial of june", "editorial of march"]}, {"title": "text"})
    features = PairFeatures().fit(left, right)
    both = features.names.index(RIVALS[0])
    X = features.transform([0, 0], [0, 1])
    assert X[1, both] == 1 > X[0, both]
    assert PairFeatures(rivals=False).fit(left, right).names == [n for n in features.names if n not in RIVALS]


def test_frequent_words_have_no_part_in_the_search_for_rivals(monkeypatch):
    monkeypatch.setattr("everlearn.linkage._similarities._PRODUCTS_OF_A_RECORD", 2)
    records = Records({"about": [f"the common words {i // 2}a" for i in range(40)]}, {"about": "text"})
    features = PairFeatures().fit(records)
    both = features.names.index(RIVALS[0])
    assert_allclose(features.transform([0, 0], [1, 2])[:, both], [1, 0])  # a frequent word is no partner


def test_tables_with_other_fields_and_missing_fit_are_refused():
    with pytest.raises(ValueError, match="same fields"):
        PairFeatures().fit(Records({"a": ["x"]}), Records({"b": ["x"]}))
    with pytest.raises(NotFittedError):
        PairFeatures().transform([0], [1])
    with pytest.raises(ValueError, match="'preset' of PairFeatures must be one of"):
        PairFeatures("best").fit(Records({"a": ["x"]}))


# ------------------------------------------------------------------------------- statistics of other records


def test_few_records_have_the_features_that_they_have_among_many():
    table, _ = make_author_records(scale=0.1, random_state=0)
    kinds = {"name": "name", "email": "email", "url": "url", "affiliation": "category", "address": "address"}
    table = [{**row, "year": 1990 + i % 17} for i, row in enumerate(table)]
    many = Records(table, {**kinds, "year": "number"})
    fitted = PairFeatures(rivals=False).fit(many)
    statistics = {
        name: FieldStatistics.from_state(persist.unpack(persist.pack(found.state())))
        for name, found in fitted.statistics().items()
    }
    few = Records(table[20:60], many.schema)
    left, right = np.triu_indices(40, 1)
    found = PairFeatures().fit(few, statistics=statistics).transform(left, right)
    assert_array_equal(found, fitted.transform(left + 20, right + 20))
    assert np.abs(found - PairFeatures(rivals=False).fit(few).transform(left, right)).max() > 0.01


def test_words_that_statistics_do_not_have_count_as_rare():
    known = PairFeatures().fit(Records({"name": ["Ann Lee", "Bo Lee", "Cy Lee"]}, {"name": "name"}))
    others = Records({"name": ["Ann Lee", "Ann Orr", "Dee Orr"]}, {"name": "name"})
    found = PairFeatures().fit(others, statistics=known.statistics()).transform([0, 1], [1, 2])
    soft = found[:, known.names.index("name: soft_tfidf")]
    rare, frequent = np.log(1 + 3 / 1), np.log(1 + 3 / 3)
    assert_allclose(soft[0], rare**2 / np.hypot(rare, frequent) / np.hypot(rare, rare), rtol=1e-12)
    assert_allclose(soft[1], 0.5, rtol=1e-12)
