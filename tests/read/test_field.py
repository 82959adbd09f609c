"""Field: the columns of each kind, their names, and unknown kinds."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

from everlearn.read.field import Field
from everlearn.read.schema import Schema
from read.read_helpers import encode


def test_missing_numbers_become_the_median_and_a_column_of_their_own():
    schema = Schema.infer({"a": ["1", "", "9", "2"], "b": ["1", "2", "3", "5"]})
    assert schema.feature_names == ["a", "a (missing)", "b"]
    assert schema.scale_features.tolist() == [True, False, True]
    X, bad = encode(schema, {"a": ["NA", "7"], "b": ["", "4"]})
    assert bad == {}
    assert X.tolist() == [[2.0, 1.0, 2.5], [7.0, 0.0, 4.0]]
    assert X.dtype == np.float64


def test_categories_are_one_hot_with_a_column_for_others():
    schema = Schema.infer({"c": ["b", "a", "b", "", "b", "a"]})
    assert schema.feature_names == ["c=b", "c=a", "c=(missing)", "c=(other)"]
    assert not schema.scale_features.any()
    X, _ = encode(schema, {"c": ["a", "new", "?", " b "]})
    assert X.tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize(("n_distinct", "n_columns"), [(50, 51), (51, 2**10)])
def test_many_categories_are_hashed(n_distinct, n_columns):
    schema = Schema.infer({"c": [f"v{i % n_distinct}" for i in range(200)]})
    assert schema.n_features == n_columns
    assert schema.is_sparse == (n_distinct > 50)
    X, _ = encode(schema, {"c": ["v1", "never seen", "v1"]})
    dense = X.toarray() if sparse.issparse(X) else X
    assert dense.sum(axis=1).tolist() == [1, 1, 1]
    assert np.array_equal(dense[0], dense[2])


TEXTS = ["the quick brown fox", "", "the the the"]


def text_oracle(texts, first):
    """Words and 4-grams by scikit-learn, weighted as documented, with frequencies of ``first``."""
    halves = []
    for options in ({}, {"analyzer": "char_wb", "ngram_range": (4, 4)}):
        vectorizer = HashingVectorizer(n_features=2**16, alternate_sign=False, norm=None, **options)
        frequencies = (vectorizer.transform(first or [""]) > 0).sum(axis=0).A1
        frequencies = np.where(frequencies >= 10, frequencies, 0)
        idf = np.log((1 + len(first)) / (1 + frequencies)) + 1 if first else np.ones(2**16)
        counts = vectorizer.transform(texts).toarray()
        half = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf**0.75
        halves.append(half / np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-300))
    whole = np.hstack(halves)
    return whole / np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1e-300)


def test_text_is_weighted_by_the_document_frequencies_of_the_first_rows():
    first = [f"the fox number {i} {'sleeps' if i % 3 else 'runs'}" for i in range(40)]
    schema = Schema.infer({"t": first, "x": ["1"] * 40}, kinds={"t": "text", "x": "numeric"})
    X, _ = encode(schema, {"t": TEXTS, "x": ["1", "2", "3"]})
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.shape == (3, 2**17 + 1)
    np.testing.assert_allclose(X[:, :-1].toarray(), text_oracle(TEXTS, first), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(X[:, :-1].toarray(), axis=1), [1, 0, 1])
    assert X[:, -1].toarray().ravel().tolist() == [1, 2, 3]
    assert schema.scale_features.nonzero()[0].tolist() == [2**17]
    assert len(schema.feature_names) == len(set(schema.feature_names)) == schema.n_features
    loaded = Schema.from_state(json.loads(json.dumps(schema.state())))
    assert (encode(loaded, {"t": TEXTS, "x": ["1", "2", "3"]})[0] != X).nnz == 0


def test_text_without_document_frequencies_is_not_weighted():
    assert Schema.infer({"t": []}, kinds={"t": "text"}).fields[0] == Field("t", "text")
    rows, _ = Field("t", "text").encode(TEXTS)
    np.testing.assert_allclose(rows.toarray(), text_oracle(TEXTS, []), atol=1e-12)


def test_rare_words_of_the_first_rows_are_not_in_the_schema():
    common = ["please call me back soon"] * 20
    schemas = [
        Schema.infer({"t": [*common, *(f"secret{i} {word}" for i in range(9))]}, kinds={"t": "text"})
        for word in ("alpha", "omega")
    ]
    assert schemas[0].fields[0].frequencies == schemas[1].fields[0].frequencies != ""


@pytest.mark.parametrize("frequencies", ["x", "!!", "c$|~@0RR91"])
def test_damaged_document_frequencies_are_refused(frequencies):
    with pytest.raises(
        ValueError, match=r"Field 't': Damaged document frequencies .*: infer the schema again"
    ):
        Field("t", "text", frequencies=frequencies)


def test_rows_of_text_alone_are_of_unit_length():
    texts = [f"row number {i} has some words" for i in range(20)]
    assert Schema.infer({"t": texts, "label": [0, 1] * 10}).is_unit_length
    assert Schema.infer({"t": texts, "u": texts[::-1]}).is_unit_length
    assert not Schema.infer({"t": texts, "x": list(range(20))}).is_unit_length


CELLS = ["3", "", "red", "dark red"]
FIELDS = [
    Field("f", "numeric"),
    Field("f", "numeric", median=2.0, missing=True),
    Field("f", "categorical", categories=("red", "blue", "")),
    Field("f", "categorical", categories=()),
    Field("f", "categorical", categories=None),
    Field("f", "text"),
]


@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_a_field_has_as_many_names_as_columns(field):
    X, _ = field.encode(CELLS)
    assert X.shape == (len(CELLS), field.n_columns)
    assert len(set(field.column_names)) == len(field.column_names) == field.n_columns
    assert sparse.issparse(X) == field.is_hashed


@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_a_row_is_encoded_the_same_alone_and_in_a_block(field):
    block, bad = field.encode(CELLS)
    for row, cell in enumerate(CELLS):
        alone, why = field.encode([cell])
        assert abs(alone - block[row]).max() == 0
        assert (0 in why) == (row in bad)


@pytest.mark.parametrize("kind", ["id", "label", "time", "ignore"])
def test_a_field_that_is_no_feature_has_no_columns(kind):
    field = Field("f", kind)
    assert (field.n_columns, field.column_names, field.is_hashed) == (0, [], False)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"Field 'x' has kind='float'; it must be one of \['numeric'"):
        Field("x", "float")
