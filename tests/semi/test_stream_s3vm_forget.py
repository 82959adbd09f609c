"""StreamS3VM forgets: the plain version, ids, and what is left of a row."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import everlearn
from everlearn import StreamS3VM, SubmodS3VM
from property_helpers import property_test
from reference.stream_s3vm import ReferenceStreamS3VM
from semi.semi_helpers import clouds
from semi.stream_helpers import OPTIONS, PLAIN, SOLVERS, linear, missing, same_state, stream_of, streams


@property_test(20)
@given(streams(), OPTIONS, SOLVERS, st.data())
def test_what_is_left_is_that_of_the_plain_version(stream, options, solver, data):
    model = stream_of(SubmodS3VM(**PLAIN, solver=solver), **options)
    plain = ReferenceStreamS3VM(linear, method=solver, **options)
    for X, y in stream:
        if not len(y) or sum(np.count_nonzero(held.y == 0) for held in plain.held()) == 2:
            continue  # of two rows the one or the other: they tie, but for rounding
        plain.step(X, y)
        model.partial_fit(X, missing(y), classes=[-1, 1])
        places = range(model.n_stored_)
        gone = data.draw(st.lists(st.sampled_from(places), unique=True, max_size=5)) if places else []
        if not gone:
            continue
        expected = plain.forget(gone)
        model.forget(model.ids_[gone])
        if not expected.any():
            assert all(label is None for label in model.transduction_)
        else:
            np.testing.assert_array_equal(model.transduction_, expected)
        for held, rows in zip(model._held, (plain.E, plain.P), strict=True):
            assert len(held) == (0 if rows is None else len(rows.y))
            if rows is not None:
                np.testing.assert_array_equal(held.X, rows.X)
                assert np.where(held.known, 2 * held.numbers - 1, 0).tolist() == rows.y.tolist()


@pytest.mark.parametrize("options", [{}, {"n_components": 8}], ids=["kernel", "Nystroem"])
def test_no_byte_of_a_row_is_left(tmp_path, options):
    X, y = clouds(60, 1, features=3)
    known = missing(y * (np.arange(60) % 4 == 0))
    s3vm = SubmodS3VM(kernel="rbf", gamma=0.4, scaling="none", positive_fraction=0.5, **options)
    model = StreamS3VM(s3vm, max_exemplars=5, random_state=0)
    for start in range(0, 60, 20):
        model.partial_fit(X[start : start + 20], known[start : start + 20])
    gone = model.ids_[::2]
    inside = [X[row, 0].tobytes() in pickle.dumps(model) for row in gone]
    assert all(inside)
    model.forget(gone)
    everlearn.save(model, tmp_path / "stream.everlearn")
    content = pickle.dumps(model) + (tmp_path / "stream.everlearn").read_bytes()
    assert not any(value.tobytes() in content for row in gone for value in X[row])
    same_state(everlearn.load(tmp_path / "stream.everlearn"), model)


def test_rows_are_named_and_numbered():
    X, y = clouds(30, 1)
    model = stream_of().partial_fit(X[:10], y[:10])
    model.partial_fit(X[10:20], y[10:20], ids=range(70, 80))
    assert np.isin(model.ids_[-10:], range(70, 80)).all()
    assert set(model.ids_[:-10]) <= set(range(10))
    with pytest.raises(ValueError, match="Duplicate id 71"):
        model.partial_fit(X[20:22], ids=[71, 90])
    with pytest.raises(ValueError, match="keeps no row with the id 200"):
        model.forget([71, 200])
    assert len(model.ids_) == model.n_stored_
    model.forget([71]).partial_fit(X[20:22], ids=[71, 99])
    assert model.ids_[-2:].tolist() == [71, 99]
    assert model.partial_fit(X[22:24]).ids_[-2:].tolist() == [22, 23]
    with pytest.raises(NotFittedError, match="has not seen a batch yet"):
        stream_of().forget(0)


def test_a_class_that_lost_its_labels_is_still_known():
    X, y = clouds(20, 2)
    model = StreamS3VM(SubmodS3VM(positive_fraction=0.5), random_state=0).partial_fit(X, y, classes=[-1, 1])
    model.forget(np.flatnonzero(y == 1))
    assert model.one_class_
    assert set(model.predict(X)) == {-1}
    model.forget(model.ids_)
    assert model.n_stored_ == 0
    assert len(model.transduction_) == 0
    with pytest.raises(NotFittedError, match="has not seen a label yet"):
        model.predict(X)
    assert set(model.partial_fit(X, y).predict(X)) == {-1, 1}
