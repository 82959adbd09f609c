import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.linkage import (
    AuthorName,
    Blocking,
    Exact,
    MinHash,
    Phonetic,
    Prefix,
    Records,
    Tokens,
    Value,
    WordPairs,
    default_blocking,
)

NAMES = ["John Smith", "JOHN SMITH", "Jon Smyth", "Mary Jones", "", "李 明", "李 明"]


def as_set(pairs):
    return set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (Exact("name"), {(0, 1), (5, 6)}),
        (Prefix("name", 2), {(0, 1), (0, 2), (1, 2), (5, 6)}),
        (Phonetic("name"), {(0, 1), (0, 2), (1, 2), (5, 6)}),
        (Tokens("name"), {(0, 1), (5, 6)}),
        (MinHash("name", bands=40, rows=1), {(0, 1), (0, 2), (1, 2), (5, 6)}),
        (AuthorName(), {(0, 1)}),
    ],
    ids=repr,
)
def test_keys(key, expected):
    pairs = Blocking(key).pairs(Records({"name": NAMES}))
    assert as_set(pairs) >= expected if isinstance(key, MinHash) else as_set(pairs) == expected
    assert not {4} & {place for pair in as_set(pairs) for place in pair}  # an empty value shares nothing


VALUES = st.lists(st.sampled_from(["", "a", "b", "a b", "c d", "b c"]), min_size=1, max_size=12)


@given(VALUES, VALUES)
def test_pairs_are_all_that_share_a_key(left, right):
    keys = Exact("x"), Tokens("x")

    def share(a, b):
        return bool(a and b) and (a == b or bool(set(a.split()) & set(b.split())))

    one = Blocking(*keys).pairs(Records({"x": left}))
    assert as_set(one) == {
        (i, j) for i, j in itertools.combinations(range(len(left)), 2) if share(left[i], left[j])
    }
    two = Blocking(*keys).pairs(Records({"x": left}), Records({"x": right}))
    assert as_set(two) == {(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if share(a, b)}
    assert len(two) == len(as_set(two))


def test_report():
    records = Records({"id": list("abcd"), "city": ["Rome", "rome", "Oslo", "Rome X"]})
    report = Blocking("city", Tokens("city")).report(records, truth=[("a", "b"), ("d", "a"), ("c", "a")])
    assert (report.pairs, report.all_pairs, report.reduction) == (3, 6, 0.5)
    assert report.recall == pytest.approx(2 / 3)
    assert list(report.by_key.values()) == [1, 3]
    assert report.largest_block == 3


def test_a_block_of_twenty_thousand_is_refused_in_words():
    records = Records({"city": ["Rome"] * 20_000})
    with pytest.raises(ValueError, match=r"20,000 records the key 'rome'.*finer key.*large_blocks='sample'"):
        Blocking("city").pairs(records)


def test_a_block_of_twenty_thousand_is_sampled_in_words():
    records = Records({"city": ["Rome"] * 20_000 + ["Oslo"] * 2})
    blocking = Blocking("city", max_block_size=100, large_blocks="sample")
    with pytest.warns(UserWarning, match="20,000 records the key 'rome'.*4,950 random pairs"):
        pairs = blocking.pairs(records)
    assert 4_800 < len(pairs) <= 4_951
    assert (pairs.left < pairs.right).all()
    assert (20_000, 20_001) in as_set(pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = blocking.report(records)
    assert "20,000" in report.notes[0]


@pytest.mark.parametrize(
    ("field", "values", "expected"),
    [
        ("born", ["1999-03-07", "7 March 1999", "07.03.99", "8 March 1999"], {(0, 1), (0, 2), (1, 2)}),
        ("phone", ["+39 (06) 555-1234", "555 1234", "0655 51234", "555 1235"], {(0, 1), (0, 2), (1, 2)}),
        ("email", ["A.Lee@x.org", "a.lee@X.ORG", "a.lee@y.org", "?"], {(0, 1)}),
    ],
)
def test_values_are_equal_however_they_are_written(field, values, expected):
    assert as_set(Blocking(Value(field)).pairs(Records({field: values}))) == expected


def test_the_default_finds_equal_values_of_which_every_word_is_frequent():
    rows = [{"born": f"{1900 + at // 100}-{1 + at // 10 % 10:02}-{1 + at % 10:02}"} for at in range(1000)]
    repeat = {"born": "3 March 1902"}
    records = Records([*rows, repeat], {"born": "date"})
    pairs = Blocking(*default_blocking(records).keys, max_block_size=20).pairs(records)
    assert (222, 1000) in as_set(pairs)


def test_frequent_words_are_dropped_and_reported():
    records = Records({"title": [f"the book {i // 2}" for i in range(40)]})
    blocking = Blocking(Tokens("title"), max_block_size=10)
    assert as_set(blocking.pairs(records)) == {(i, i + 1) for i in range(0, 40, 2)}
    assert "dropped 2 keys that more than 10 records share" in blocking.report(records).notes[0]


def test_min_hash_finds_similar_values_and_not_others():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 8)) for _ in range(300)]
    titles = [" ".join(rng.choice(words, 6)) for _ in range(100)]
    changed = [title[:-1] + "x" for title in titles]
    report = Blocking(MinHash("t")).report(
        Records({"t": titles}), Records({"t": changed}), truth=[(i, i) for i in range(100)]
    )
    assert report.recall == 1
    assert report.reduction > 0.9


def test_word_pairs_find_records_of_which_every_word_is_frequent():
    first, last, city = (["Ann", "Bob", "Cyd", "Dee"], ["Lee", "Ray", "Orr", "Poe"], ["Rome", "Oslo", "Bern"])
    people = [{"name": f"{a} {b}", "city": c} for a in first for b in last for c in city]
    twins = [{"name": f"{b}, {a}", "city": c} for a in first for b in last for c in city]
    records = Records(people + twins, {"name": "name", "city": "category"})
    n = len(people)
    truth = {(at, at + n) for at in range(n)}
    words = as_set(Blocking(Tokens("name"), Tokens("city"), max_block_size=20).pairs(records))
    pairs = as_set(Blocking(WordPairs(), max_block_size=20).pairs(records))
    assert not words
    assert len(truth & pairs) > 0.95 * n
    drawn = [set(key.split()) for key in WordPairs(draws=40).keys("ann lee rome")]
    assert sorted(map(sorted, drawn)) == [["ann", "lee"], ["ann", "rome"], ["lee", "rome"]]


def test_word_pairs_of_a_record_do_not_depend_on_the_others():
    table = [
        {"name": "Ann Lee", "born": "1980-02-01"},
        {"name": "", "born": ""},
        {"name": "李 明 王", "born": ""},
    ]
    schema = {"name": "name", "born": "date"}
    places, keys = WordPairs().keys_of(Records(table, schema))
    assert set(places.tolist()) == {0, 2}
    assert any("1980-02-01" in key for key in keys)  # a date is one word
    for at in (0, 2):
        alone = WordPairs().keys_of(Records(table[at : at + 1], schema))[1]
        assert alone == [key for place, key in zip(places.tolist(), keys, strict=True) if place == at]
    assert WordPairs().keys_of(Records([{"name": "Ann"}]))[1] == []


def test_the_default_compares_fewer_in_a_large_table():
    def largest(n):
        return default_blocking(Records({"name": list(map(str, range(n)))})).max_block_size

    assert [largest(n) for n in (1, 20_000, 80_000)] == [100, 100, 50]


def test_the_default_takes_any_table():
    records = Records({"name": ["Ann Lee", "Ann Leigh", "Bob"], "year": [1, 1, 1]})
    assert (0, 1) in as_set(default_blocking(records).pairs(records))
    assert as_set(default_blocking(Records({"n": ["1", "1"]})).pairs(Records({"n": ["1", "1"]}))) == {(0, 1)}


def test_bad_settings_are_refused():
    records = Records({"a": ["x"]})
    with pytest.raises(ValueError, match="at least one key"):
        Blocking().pairs(records)
    with pytest.raises(ValueError, match="no field 'b'"):
        Blocking("b").pairs(records)
    with pytest.raises(ValueError, match="'large_blocks' of Blocking must be one of"):
        Blocking("a", large_blocks="drop").pairs(records)


def test_no_records_have_no_pairs():
    assert len(Blocking("a").pairs(Records({"a": []}))) == 0
    assert Blocking("a").report(Records({"a": []})).reduction == 0


def test_long_texts_do_not_bring_a_pair_for_each_of_their_words():
    random = np.random.default_rng(0)
    vocabulary = ["".join(random.choice(list("abcdefgh"), 7)) for _ in range(500)]
    texts = [" ".join(random.choice(vocabulary, 40)) for _ in range(150)]
    again = [" ".join(word for word in text.split() if random.random() < 0.9) for text in texts]
    records = Records({"abstract": texts + again})
    assert records.schema == {"abstract": "text"}
    truth = [(n, n + 150) for n in range(150)]
    report = default_blocking(records).report(records, truth=truth)
    assert report.recall > 0.99
    by_words = Blocking(Tokens("abstract"), max_block_size=100).report(records)
    assert report.pairs < 0.2 * by_words.pairs
