"""LeaveOneOut: scores by models that were trained without the row."""

import numpy as np
import pytest
from hypothesis import given

from everlearn import IDSVM
from everlearn.svm import LeaveOneOut
from property_helpers import property_test
from svm.idsvm_helpers import happen
from svm.idsvm_native_helpers import Compiled, learned, native_stories
from svm.lasvm_helpers import three_clouds


def test_leave_one_out_figures(wdbc, first_120):
    y = wdbc[1][:120]
    out = first_120.leave_one_out()
    np.testing.assert_array_equal(out.ids, np.arange(120))
    np.testing.assert_array_equal(out.labels, y)
    np.testing.assert_array_equal(out.predictions, np.where(out.scores > 0, 1, -1))
    assert np.sum(y * out.scores < 0) == 9
    assert out.error == 9 / 120
    assert np.sum(y * out.scores) == pytest.approx(128.8715, abs=1e-3)


@property_test(40)
@given(native_stories())
def test_leave_one_out_is_retraining(story):
    X, y, C, kernel, events = story
    machine = Compiled(X, y, C, **kernel)
    for event in events:
        happen(machine, event)
    out = machine.model.leave_one_out()
    rows = machine.rows
    np.testing.assert_array_equal(out.ids, rows)
    np.testing.assert_array_equal(out.labels, machine.y[rows])
    for at, i in enumerate(rows):
        rest = learned(X, machine.y, machine.C, [j for j in rows if j != i], **kernel)
        expected = rest.model.decision_function(X[[i]])[0] if len(rows) > 1 else 0.0
        assert out.scores[at] == pytest.approx(expected, abs=1e-7)


def test_the_error_is_the_fraction_of_wrong_predictions():
    ids, labels = np.arange(4), np.array(["a", "b", "b", "a"], dtype=object)
    predictions = np.array(["a", "b", "a", "a"], dtype=object)
    assert LeaveOneOut(ids, labels, np.zeros(4), predictions).error == 0.25
    none = np.zeros(0)
    assert np.isnan(LeaveOneOut(none.astype(int), none, none, none).error)


def test_with_three_classes_predictions_are_the_largest_scores():
    X, y = three_clouds(60, 3)
    out = IDSVM(gamma=0.7).fit(X, y).leave_one_out()
    assert out.scores.shape == (60, 3)
    np.testing.assert_array_equal(out.predictions, np.unique(y)[out.scores.argmax(axis=1)])
    assert out.error == np.mean(out.predictions != y)
