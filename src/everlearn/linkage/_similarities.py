"""Similarities of token lists of many pairs at once: overlaps by sparse products, and Soft-TFIDF."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._strings import jaro_winkler_similarities

Codes = NDArray[np.intp]
Similarities = NDArray[np.float64]

_CELLS_AT_ONCE = 2_000_000  # pairs of tokens in memory
_PRODUCTS_OF_A_RECORD = 1000  # products of weights that the search for the closest record may cost
_ROWS_AT_ONCE = 4096
_SOFT = 0.9  # the least Jaro-Winkler similarity of tokens that count as equal


class TokenTable:
    """The tokens of distinct values as a sparse matrix of counts, with document frequencies.

    `vocabulary` has the tokens in alphabetical order, one for each column. `uses` says how many records have
    each value.
    """

    def __init__(self, vocabulary: list[str], counts: Any, uses: Codes) -> None:
        counts.sum_duplicates()
        counts.sort_indices()
        self.vocabulary, self.counts, self.uses = vocabulary, counts, uses
        self.frequency = np.asarray(self.sets.T @ uses.astype(np.float64)).ravel()
        self.idf = np.log(1 + max(uses.sum(), 1) / np.maximum(self.frequency, 1))

    @classmethod
    def of(cls, lists: Iterable[Sequence[str]], uses: Codes) -> TokenTable:
        """The table of the tokens of each value."""
        known: dict[str, int] = {}
        found = [[known.setdefault(token, len(known)) for token in tokens] for tokens in lists]
        lengths = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
        codes = np.fromiter(chain.from_iterable(found), dtype=np.int64, count=lengths.sum())
        vocabulary, places = _in_order(known)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        shape = len(found), len(vocabulary)
        return cls(
            vocabulary, sparse.csr_matrix((np.ones(len(codes)), places[codes], indptr), shape=shape), uses
        )

    def pieces(self, cut: Callable[[str], Sequence[str]]) -> TokenTable:
        """The table of the pieces of each token: cut once for each distinct token."""
        none = np.zeros(len(self.vocabulary), dtype=np.intp)
        inner = TokenTable.of([cut(token) for token in self.vocabulary], none)
        return TokenTable(inner.vocabulary, (self.counts @ inner.counts).tocsr(), self.uses)

    @property
    def sets(self) -> Any:
        """Which tokens each value has."""
        return self.counts.sign()

    @cached_property
    def set_sizes(self) -> Similarities:
        """The number of distinct tokens of each value."""
        return np.asarray(np.diff(self.counts.indptr), dtype=np.float64)

    def weights(self) -> Any:
        """log(tf + 1) log(1 + N / df), scaled to unit length in each row."""
        found = self.counts.copy()
        found.data = np.log(found.data + 1)
        found = found.multiply(self.idf[None, :]).tocsr()
        norms = np.sqrt(np.asarray(found.multiply(found).sum(axis=1)).ravel())
        found = sparse.diags(1 / np.where(norms > 0, norms, 1)) @ found
        return found.tocsr()


def joined(tables: Sequence[TokenTable], codes: Sequence[Codes], uses: Codes) -> TokenTable:
    """The table of records that have several values each: `codes` has one list of values for each table."""
    known: dict[str, int] = {}
    columns = [np.array([known.setdefault(t, len(known)) for t in table.vocabulary], int) for table in tables]
    vocabulary, places = _in_order(known)
    counts = sparse.csr_matrix((len(uses), len(vocabulary)))
    for table, column, code in zip(tables, columns, codes, strict=True):
        part = table.counts[code]
        shape = len(uses), len(vocabulary)
        counts = counts + sparse.csr_matrix(
            (part.data, places[column][part.indices], part.indptr), shape=shape
        )
    return TokenTable(vocabulary, counts.tocsr(), uses)


def _in_order(known: dict[str, int]) -> tuple[list[str], Codes]:
    """The tokens in alphabetical order, and the place of each token by its number."""
    vocabulary = sorted(known)
    places = np.empty(len(known), dtype=np.intp)
    places[[known[token] for token in vocabulary]] = np.arange(len(known))
    return vocabulary, places


def row_products(matrix: Any, left: Codes, right: Codes) -> Similarities:
    """Inner product of two rows of a sparse matrix, for each pair."""
    return np.asarray(matrix[left].multiply(matrix[right]).sum(axis=1)).ravel()


def cosines(table: TokenTable, left: Codes, right: Codes) -> Similarities:
    """Cosine of TF-IDF weights."""
    return np.minimum(row_products(table.weights(), left, right), 1.0)


def jaccards(table: TokenTable, left: Codes, right: Codes) -> Similarities:
    """Common tokens over all tokens; 1 for two empty sets."""
    common = row_products(table.sets, left, right)
    sizes = table.set_sizes
    union = sizes[left] + sizes[right] - common
    return np.where(union > 0, common / np.maximum(union, 1), 1.0)


def containments(table: TokenTable, left: Codes, right: Codes) -> Similarities:
    """The weight of the common tokens over that of the lighter set, each token with its idf."""
    root = table.sets.multiply(np.sqrt(table.idf)[None, :]).tocsr()
    common = row_products(root, left, right)
    total = np.asarray(table.sets @ table.idf).ravel()
    lighter = np.minimum(total[left], total[right])
    return np.where(lighter > 0, np.minimum(common / np.where(lighter > 0, lighter, 1), 1.0), 0.0)


def closest(weights: Any, left: Codes, right: Codes) -> tuple[Any, Similarities]:
    """The largest inner product of each row with a row of the other side, itself excepted.

    `left` and `right` are the rows of both sides; the same object for one table. The columns that cost most
    are left out so that the work grows with the number of rows. Returns the weights without these columns,
    and the largest products of all rows.
    """
    one_table = left is right
    columns = [np.asarray(weights[rows].sign().sum(axis=0)).ravel() for rows in (left, right)]
    costs = columns[0] * columns[1]
    order = np.argsort(costs, kind="stable")
    keep = np.zeros(len(costs))
    keep[order[np.cumsum(costs[order]) <= _PRODUCTS_OF_A_RECORD * weights.shape[0]]] = 1.0
    kept = (weights @ sparse.diags(keep)).tocsr()
    kept.eliminate_zeros()
    best, partners = np.zeros(weights.shape[0]), kept[right].T.tocsr()
    for start in range(0, len(left), _ROWS_AT_ONCE):
        rows = left[start : start + _ROWS_AT_ONCE]
        products = kept[rows] @ partners
        if one_table:
            places = np.repeat(np.arange(start, start + len(rows)), np.diff(products.indptr))
            products.data[products.indices == places] = 0.0
        else:
            best[right] = np.maximum(best[right], products.max(axis=0).toarray().ravel())
        best[rows] = products.max(axis=1).toarray().ravel()
    return kept, best


def soft_tfidf(table: TokenTable, left: Codes, right: Codes, weights: Any = None) -> Similarities:
    """Soft-TFIDF: the mean of both directions, at most 1.

    raw(S, T) is the sum of v_S(w) v_T(v) JW(w, v) over tokens w of S, where v is the best match of w in T and
    JW(w, v) >= 0.9; of equal matches the first in the alphabet.
    """
    weights = table.weights() if weights is None else weights
    cells = np.diff(weights.indptr)[left] * np.diff(weights.indptr)[right]
    found = np.zeros(len(left))
    cuts = np.searchsorted(np.cumsum(cells), np.arange(0, cells.sum(), _CELLS_AT_ONCE)[1:])
    for part in np.split(np.arange(len(left)), np.unique(cuts)):
        if len(part):
            found[part] = _soft_tfidf_block(table.vocabulary, weights, left[part], right[part])
    return found


def _soft_tfidf_block(vocabulary: list[str], weights: Any, left: Codes, right: Codes) -> Similarities:
    # One line for each token of the left value of each pair, then one for each of its partners on the right.
    pair, s = _expand(weights.indptr, left)
    line, t = _expand(weights.indptr, right[pair])
    w, v = weights.indices[s][line].astype(np.int64), weights.indices[t].astype(np.int64)
    keys, inverse = np.unique(np.minimum(w, v) * len(vocabulary) + np.maximum(w, v), return_inverse=True)
    first, second = keys // max(len(vocabulary), 1), keys % max(len(vocabulary), 1)
    similar = np.ones(len(keys))
    unequal = np.flatnonzero(first != second)
    similar[unequal] = jaro_winkler_similarities(
        [vocabulary[i] for i in first[unequal]], [vocabulary[i] for i in second[unequal]]
    )
    similarity = similar[inverse]
    products = weights.data[s][line] * weights.data[t] * similarity
    total = np.zeros(len(left))
    # Best matches of each token on the left, then of each token on the right.
    owner = pair[line]
    for group, candidate in ((line, t), (owner * (weights.indptr[-1] + 1) + t, line)):
        total += _best_matches(group, candidate, similarity, products, owner, len(left))
    return np.minimum(total / 2, 1.0)


def _best_matches(
    group: Codes, candidate: Codes, similarity: Similarities, products: Similarities, owner: Codes, n: int
) -> Similarities:
    """Sum, for each pair, the products of the best match of each group, if it is similar enough."""
    near = np.flatnonzero(similarity >= _SOFT)
    order = near[np.lexsort((candidate[near], -similarity[near], group[near]))]
    firsts = order[np.concatenate([[True], np.diff(group[order]) != 0])] if len(order) else order
    return np.bincount(owner[firsts], weights=products[firsts], minlength=n).astype(np.float64)


def _expand(indptr: Any, rows: Codes) -> tuple[Codes, Codes]:
    """For each entry of the given rows of a CSR matrix: the place of its row in `rows`, and its own place."""
    starts, counts = indptr[rows].astype(np.intp), np.diff(indptr)[rows].astype(np.intp)
    line = np.repeat(np.arange(len(rows)), counts)
    offset = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts)
    return line, starts[line] + offset
