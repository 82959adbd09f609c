"""Field: the columns of each kind, their names, and unknown kinds."""

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


def test_text_is_what_the_hashing_vectorizer_makes_of_it():
    texts = ["the quick brown fox", "", "the the the"]
    schema = Schema.infer({"t": texts, "x": ["1", "2", "3"]}, kinds={"t": "text"})
    X, _ = encode(schema, {"t": texts, "x": ["1", "2", "3"]})
    oracle = HashingVectorizer(n_features=2**16, alternate_sign=False, norm="l2").transform(texts)
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.shape == (3, 2**16 + 1)
    assert (X[:, :-1] != oracle).nnz == 0
    assert X[:, -1].toarray().ravel().tolist() == [1, 2, 3]
    assert schema.scale_features.nonzero()[0].tolist() == [2**16]
    assert len(schema.feature_names) == len(set(schema.feature_names)) == schema.n_features


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
