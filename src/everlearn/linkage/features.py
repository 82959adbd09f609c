"""PairFeatures: the similarity vector of a pair of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError

from .._base import constraints
from ._comparisons import (
    ASCII_JACCARD,
    COMPARISONS,
    LOWER_EDIT,
    RECORD,
    RIVALS,
    Comparison,
    DateValues,
    FieldValues,
    RecordValues,
)
from ._similarities import Codes, Similarities, soft_tfidf
from ._statistics import FieldStatistics
from ._text import ascii_tokens
from .records import Records

_PAIRS_AT_ONCE = 100_000
_THESIS = {"email": LOWER_EDIT, "url": LOWER_EDIT, "affiliation": ASCII_JACCARD, "address": ASCII_JACCARD}
_ALL = "record"  # the name of all fields together
_RARE = 4  # records that share a value which tells them apart from others
_TELLING = ("name", "text", "email", "url", "address", "date")


class PairFeatures:
    """Turn pairs of records into vectors of similarities from 0 to 1.

    What a similarity needs of a value is computed once for each distinct value, and a similarity once for
    each distinct pair of values.

    Parameters
    ----------
    preset : {"default", "thesis"}, default="default"
        "default" compares each field by its kind, all fields as one text, and has a flag for each field
        that either record lacks; the similarities of such a field are 0. "thesis" has the nine features of
        the author-name disambiguation in Ertekin's thesis, for records with the fields name, email, url,
        affiliation and address: Soft-TFIDF of names within a block of one last name and first initial, edit
        similarity of email and url, Jaccard similarity of the words of affiliation and address, and a flag
        for each of the last four.
    rivals : bool, default=True
        Whether the default preset also compares the similarity of two records with that of each to its
        closest record: a pair is rarely a match if both have better partners. These two features depend on
        all records; without them a pair's similarities change with the other records only by how frequent
        words are.

    Attributes
    ----------
    names : list of str
        The name of each feature, such as "title: tfidf" or "year: missing"; known after `fit`.

    Notes
    -----
    =========  ===========================================================================================
    name       Soft-TFIDF, Jaro-Winkler of sorted words, cosine of 3-grams, common initials, length
    text       cosine of TF-IDF weights, Soft-TFIDF, cosine of 3-grams, containment, numbers
    address    Soft-TFIDF, Jaccard, cosine of 3-grams, numbers in the text
    email      edit similarity, Jaro-Winkler of the part before the @
    url        edit similarity, Jaccard
    date       equal, edit similarity, 1 / (1 + distance in years)
    number     equal, ratio, 1 / (1 + distance / interquartile range)
    category   equal, edit similarity, goes with
    =========  ===========================================================================================

    Containment is the idf weight of the common words over that of the lighter text, length the ratio of the
    numbers of words. The whole record is compared by TF-IDF, 3-grams and containment, and its TF-IDF cosine
    with that of each record to its closest one (``rivals``). Two values of a category go with each other if
    they occur in records that agree on a rare value of another field, which is found without labels. The
    vector does not depend on the order of the two records. Edit distances are computed by rapidfuzz if it is
    installed (extra "linkage"), otherwise in Python.

    Examples
    --------
    >>> from everlearn.linkage import PairFeatures, Records
    >>> people = Records([{"name": "Ann Lee", "city": "Rome"}, {"name": "Lee, Anne", "city": ""}])
    >>> features = PairFeatures().fit(people)
    >>> features.names[:2]
    ['name: soft_tfidf', 'name: jaro_winkler']
    >>> features.transform([0], [1]).shape
    (1, 16)
    """

    _constraints = {"preset": constraints.one_of("default", "thesis"), "rivals": constraints.BOOLEAN}  # noqa: RUF012

    def __init__(self, preset: str = "default", *, rivals: bool = True) -> None:
        self.preset, self.rivals = preset, rivals
        self.names: list[str] = []
        self._fields: list[_Field] = []

    def __repr__(self) -> str:
        return f"PairFeatures(preset={self.preset!r}, rivals={self.rivals!r})"

    def fit(
        self,
        left: Records,
        right: Records | None = None,
        *,
        statistics: Mapping[str, FieldStatistics] | None = None,
    ) -> PairFeatures:
        """Collect the distinct values of the records and how frequent their words are.

        Parameters
        ----------
        left : Records
            The records, or those of the first table.
        right : Records, default=None
            The records of the second table; None compares the records of one table with each other.
        statistics : mapping of str to FieldStatistics, default=None
            What `statistics` returned for other records: how frequent words are is taken from these. So a
            pair has the same features whatever other records it is computed with; those of ``rivals``, which
            need all records, are left out.

        Returns
        -------
        PairFeatures
            The features themselves.
        """
        constraints.check(self)
        if right is not None and list(right.schema) != list(left.schema):
            raise ValueError(
                f"Both tables must have the same fields in the same order, got {', '.join(left.schema)} and "
                f"{', '.join(right.schema)}: pass a schema for each."
            )
        if self.preset == "thesis":
            self._fields = _thesis_fields(left, right)
        else:
            fields = [
                _Field(name, *_shared(name, left, right, kind), COMPARISONS[kind], True)
                for name, kind in left.schema.items()
            ]
            kinds = list(left.schema.values())
            for place, kind in enumerate(kinds):
                if kind == "category" and statistics is None:
                    others = [f for i, f in enumerate(fields) if i != place and kinds[i] in _TELLING]
                    _count_together(fields[place], others)
            whole = RECORD | RIVALS if self.rivals and statistics is None else RECORD
            self._fields = [*fields, _Field(_ALL, *_whole(fields), whole, False)]
        if statistics is not None:
            for field in self._fields:
                field.values.statistics = statistics[field.name]
        flags = [f"{field.name}: missing" for field in self._fields if field.flag]
        self.names = [
            f"{field.name}: {name}" for field in self._fields for name in field.feature_names
        ] + flags
        return self

    def transform(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        """Compute the features of pairs.

        Parameters
        ----------
        left : array-like of int of shape (n_pairs,)
            The place of the first record of each pair, in the first table.
        right : array-like of int of shape (n_pairs,)
            The place of the second record, in the second table if there are two.

        Returns
        -------
        ndarray of shape (n_pairs, n_features)
            The features, in the order of `names`.
        """
        if not self._fields:
            raise NotFittedError("PairFeatures has no records yet: call fit before transform.")
        first, second = np.asarray(left, dtype=np.intp), np.asarray(right, dtype=np.intp)
        blocks = [
            self._block(first[i : i + _PAIRS_AT_ONCE], second[i : i + _PAIRS_AT_ONCE])
            for i in range(0, max(len(first), 1), _PAIRS_AT_ONCE)
        ]
        return np.concatenate(blocks)

    def statistics(self) -> dict[str, FieldStatistics]:
        """What the features know of all records, for `fit` with few of them.

        Returns
        -------
        dict of str to FieldStatistics
            The statistics of each field.
        """
        self.transform([0], [0])  # comparisons collect what they use
        return {field.name: field.values.as_statistics() for field in self._fields}

    def _block(self, left: Codes, right: Codes) -> NDArray[np.float64]:
        columns, flags = [], []
        for field in self._fields:
            similarities, missing = field.compare(left, right)
            columns += similarities
            flags += [missing] if field.flag else []
        return np.column_stack([*columns, *flags]).astype(np.float64)


class _Field:
    """A field of both tables: its distinct values, their codes, and how they are compared."""

    def __init__(
        self,
        name: str,
        values: FieldValues,
        left: Codes,
        right: Codes,
        comparisons: dict[str, Comparison],
        flag: bool,
    ) -> None:
        self.name, self.values, self.comparisons, self.flag = name, values, comparisons, flag
        self.left, self.right = left, right

    @property
    def feature_names(self) -> list[str]:
        return [name for names in self.comparisons for name in names.split(" ")]

    def compare(self, left: Codes, right: Codes) -> tuple[list[Similarities], Similarities]:
        """The similarities of each comparison, 0 where a value is missing, and the flags of those."""
        a, b = self.left[left], self.right[right]
        # Similarities do not depend on the order: one of the two orders is computed.
        keys = np.minimum(a, b).astype(np.int64) * len(self.values) + np.maximum(a, b)
        distinct, inverse = np.unique(keys, return_inverse=True)
        first, second = (c.astype(np.intp) for c in np.divmod(distinct, max(len(self.values), 1)))
        known = ~(self.values.missing[first] | self.values.missing[second])
        columns: list[Similarities] = []
        for compare in self.comparisons.values():
            found = np.atleast_2d(compare(self.values, first[known], second[known]))
            for row in found:
                column = np.zeros(len(distinct))
                column[known] = row
                columns.append(column[inverse])
        return columns, (~known[inverse]).astype(np.float64)


def _shared(
    name: str, left: Records, right: Records | None, kind: str = ""
) -> tuple[FieldValues, Codes, Codes]:
    """The distinct values of a field of both tables, and the codes of each."""
    made = DateValues if kind == "date" else FieldValues
    values, codes = left.distinct(name)
    if right is None:
        return made(values, np.bincount(codes, minlength=len(values))), codes, codes
    known = {value: code for code, value in enumerate(values)}
    others, other_codes = right.distinct(name)
    translated = np.array([known.setdefault(value, len(known)) for value in others], dtype=np.intp)
    second = translated[other_codes] if len(others) else other_codes
    uses = np.bincount(np.concatenate([codes, second]), minlength=len(known))
    return made(list(known), uses), codes, second


def _count_together(field: _Field, others: list[_Field]) -> None:
    """Count how often two values of a field occur in records that agree on a rare value of another field.

    So it is found, without labels, that one table has "VLDB" where the other has "Very Large Data Bases".
    """
    n = len(field.values.values)
    counts = sparse.csr_matrix((n, n))
    for other in others:
        same = other.values.forms
        left, right = same[other.left], same[other.right]
        sizes = np.bincount(np.concatenate([left, right]), minlength=int(same.max(initial=-1)) + 1)
        rare = sizes <= (2 if other.left is other.right else 1) * _RARE
        rare[same[other.values.missing]] = False
        # For each table, how often each value of the field occurs with each rare value of the other field.
        with_left, with_right = (
            sparse.csr_matrix(
                (np.ones(int(rare[form].sum())), (form[rare[form]], codes[rare[form]])), shape=(len(sizes), n)
            )
            for form, codes in ((left, field.left), (right, field.right))
        )
        found = with_left.T @ with_right
        if other.left is other.right:  # a record does not occur with itself
            found -= sparse.diags(np.bincount(field.left[rare[left]], minlength=n).astype(float))
        counts = counts + found
    filled = sparse.diags((~field.values.missing).astype(float))
    field.values.seen_together = (filled @ (counts + counts.T) @ filled).tocsr()


def _whole(fields: list[_Field]) -> tuple[FieldValues, Codes, Codes]:
    """All fields of a record as one text."""
    one_table = all(field.left is field.right for field in fields)
    sides = [[f.left for f in fields]] if one_table else [[f.left for f in fields], [f.right for f in fields]]
    codes = [np.concatenate(both) for both in zip(*sides, strict=True)]
    left = np.arange(len(fields[0].left))
    right = left if one_table else len(left) + np.arange(len(fields[0].right))
    n = len(left) if one_table else len(left) + len(right)
    return RecordValues([f.values for f in fields], codes, (left, right), n), left, right


# ------------------------------------------------------------------------------------- features of the thesis


def thesis_key(name: str) -> str:
    """The block of a name: its last token and the first letter of its first; "" for an empty name."""
    found = ascii_tokens(name)
    return f"{found[-1]}|{found[0][0]}" if found else ""


def _thesis_fields(left: Records, right: Records | None) -> list[_Field]:
    missing = [name for name in ("name", *_THESIS) if name not in left.schema]
    if missing:
        raise ValueError(
            f"preset='thesis' needs the fields name, {', '.join(_THESIS)}, but {', '.join(missing)} is "
            "missing: rename the columns, or use preset='default'."
        )
    names, codes, others = _shared("name", left, right)
    first = _Field("name", names, codes, others, {"soft_tfidf": _SoftTfidfInBlocks(names)}, False)
    first.values.missing[:] = False  # an empty name has the similarity 0 without a flag
    return [first, *(_Field(name, *_shared(name, left, right), {"": c}, True) for name, c in _THESIS.items())]


class _SoftTfidfInBlocks:
    """Soft-TFIDF with the document frequencies of the block to which both names belong."""

    def __init__(self, names: FieldValues) -> None:
        keys = [thesis_key(name) for name in names.values]
        members: dict[str, list[int]] = {}
        for code, key in enumerate(keys):
            members.setdefault(key, []).append(code)
        self.names = list(members)
        number = {key: i for i, key in enumerate(members)}
        self.block = np.array([number[key] for key in keys], dtype=np.intp)
        self.members = [np.array(codes, dtype=np.intp) for codes in members.values()]
        self.tables: dict[int, Any] = {}

    def __call__(self, field: FieldValues, a: Codes, b: Codes) -> Similarities:
        if np.any(self.block[a] != self.block[b]):
            raise ValueError(
                "preset='thesis' compares names within a block only, the same last name and first initial: "
                "use Blocking(AuthorName()), or preset='default'."
            )
        found = np.zeros(len(a))
        for block in np.unique(self.block[a]):
            pairs = np.flatnonzero(self.block[a] == block)
            members = self.members[block]
            if block not in self.tables:
                inner = FieldValues([field.values[code] for code in members], field.uses[members])
                self.tables[block] = inner.ascii_tokens, inner.ascii_tokens.weights()
            table, weights = self.tables[block]
            places = np.searchsorted(members, a[pairs]), np.searchsorted(members, b[pairs])
            found[pairs] = soft_tfidf(table, *places, weights)
        return found
