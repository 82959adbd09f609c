import numpy as np
import pytest
from numpy.testing import assert_array_equal

from everlearn.datasets import make_author_records
from everlearn.datasets.authors import AUTHOR_NAMES
from reference.linkage import block_key


def test_the_layout_of_the_thesis():
    records, person = make_author_records(scale=1)
    assert len(records) == len(person) == 3355
    assert len(np.unique(person)) == 490
    keys = [block_key(record["name"]) for record in records]
    start = 0
    for name, (n, people) in AUTHOR_NAMES.items():
        part = slice(start, start + n)
        assert set(keys[part]) == {block_key(name)}
        assert len(np.unique(person[part])) == people
        start += n


def test_a_fifth_has_the_training_pairs_of_the_reference():
    _, person = make_author_records(random_state=0)
    sizes = [round(0.2 * n) for n, _ in AUTHOR_NAMES.values()]
    assert len(person) == sum(sizes)
    assert sum(sizes[i] * (sizes[i] - 1) // 2 for i in (3, 4, 8)) == 6910


def test_the_same_arguments_give_the_same_records():
    one, other = make_author_records(random_state=3), make_author_records(random_state=3)
    assert one[0] == other[0]
    assert_array_equal(one[1], other[1])
    assert make_author_records(random_state=4)[0] != one[0]
    alone, _ = make_author_records({"A. Gupta": (506, 44)}, random_state=3)
    assert alone == one[0][: len(alone)]


def test_values_are_missing_as_often_as_they_should():
    records, _ = make_author_records(scale=1)
    shares = {field: np.mean([not record[field] for record in records]) for field in records[0]}
    expected = {"name": 0, "email": 0.25, "url": 0.5, "affiliation": 0.05, "address": 0.2}
    assert shares == pytest.approx(expected, abs=0.03)


def test_people_of_high_rank_have_many_records():
    _, person = make_author_records({"J. Smith": (743, 86)}, scale=1)
    counts = np.bincount(person)
    assert counts.min() >= 1
    assert counts[:5].sum() > counts[-40:].sum()


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="scale must be a positive number"):
        make_author_records(scale=0)
    with pytest.raises(TypeError, match="random_state must be an integer"):
        make_author_records(random_state=None)


def test_styles_are_the_shares_of_full_names_middle_initials_and_initials():
    records, _ = make_author_records(scale=1, styles=(0, 0, 1), random_state=0)
    assert all(len(record["name"].split()[0]) == 2 for record in records)  # an initial and a point
    records, _ = make_author_records(scale=1, styles=(3, 0, 0), random_state=0)
    assert not any("." in record["name"] for record in records)


@pytest.mark.parametrize("styles", [(1, 1), (0, 0, 0), (1, -1, 1), (1, np.nan, 1), "abc", {"full": 1}, None])
def test_styles_that_are_no_shares_are_refused(styles):
    with pytest.raises(ValueError, match="styles must be three shares"):
        make_author_records(styles=styles)
