"""All: every row is worth asking about, whatever the model."""

import numpy as np

from everlearn import LASVM
from everlearn.query import All
from query.query_helpers import Given, column


def test_every_row_is_asked_about():
    rows = column(0.0, 5.0, -3.0)
    np.testing.assert_array_equal(All().query(Given(), rows), [0, 1, 2])
    np.testing.assert_array_equal(All().utilities(Given(), rows), [1.0, 1.0, 1.0])


def test_the_first_rows_come_first():
    np.testing.assert_array_equal(All().query(Given(), column(3.0, 2.0, 1.0, 0.0), n=2), [0, 1])


def test_the_model_is_not_looked_at():
    np.testing.assert_array_equal(All().query(LASVM(), np.zeros((2, 1))), [0, 1])
    np.testing.assert_array_equal(All().query(object(), [[0.0], [1.0]]), [0, 1])


def test_it_says_that_it_asks_every_row():
    assert All().asks_every_row
    assert All().rows_per_question == 1
