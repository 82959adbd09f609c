"""What SubmodS3VM and QPS3VM accept and refuse: missing labels, formats, edge cases; saving and loading."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import everlearn
from everlearn import LASVM, QPS3VM, SubmodS3VM
from everlearn._submodular.geometry import Geometry
from everlearn.semi._labels import read_labels
from reference.s3vm import from_rows, scale_rows, transduce
from semi.semi_helpers import clouds

BOTH = pytest.mark.parametrize("cls", [SubmodS3VM, QPS3VM])
X, y = clouds(60, 0, apart=2.5)
LABELED = np.arange(60) < 8
NAMES = np.where(y > 0, "yes", "no")
NUMBERS = (y > 0).astype(int)


def partly(labels, missing):
    return np.array(
        [label if known else missing for label, known in zip(labels.tolist(), LABELED, strict=True)]
    )


def fitted(cls=SubmodS3VM, rows=X, labels=None, **settings):
    settings = {"positive_fraction": 0.5, "random_state": 0} | settings
    return cls(**settings).fit(rows, partly(NUMBERS, np.nan) if labels is None else labels)


# --- labels that are missing -------------------------------------------------------------------------------

EXPECTED = fitted().transduction_
MISSING = {  # how labels with gaps may look: y, unlabeled
    "NaN": (partly(NUMBERS, np.nan), None),
    "float32": (partly(NUMBERS, np.nan).astype(np.float32), None),
    "-1": (partly(NUMBERS, -1), -1),
    "-1 among floats": (partly(NUMBERS, -1).astype(float), -1),
    "NaN by name": (partly(NUMBERS, np.nan), np.nan),
    "a list with None": (partly(NUMBERS, None).tolist(), None),
    "objects with NaN": (partly(NUMBERS, None).astype(object), None),
    "a Series": (pd.Series(partly(NUMBERS, np.nan)), None),
    "a nullable Series": (pd.Series(partly(NUMBERS, None), dtype="Int64"), None),
    "a polars Series": (pl.Series(partly(NUMBERS, None).tolist()), None),
    "names": (partly(NAMES, None), None),
    "names in a list with NaN": ([*partly(NAMES, None).tolist()[:59], float("nan")], None),
    "names with a question mark": (partly(NAMES, "?"), "?"),
    "names in a Series": (pd.Series(partly(NAMES, None)), None),
    "categories": (pd.Series(partly(NAMES, None)).astype("category"), None),
    "names in polars": (pl.Series(partly(NAMES, None).tolist()), None),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_labels(kind):
    labels, unlabeled = MISSING[kind]
    clf = fitted(labels=labels, unlabeled=unlabeled)
    named = "name" in kind or kind == "categories"
    assert len(clf.classes_) == 2
    second = "yes" if named and clf.classes_[1] == "yes" else 1
    np.testing.assert_array_equal(clf.transduction_ == second, EXPECTED == 1)
    np.testing.assert_array_equal(clf.predict(X) == second, fitted().predict(X) == 1)
    np.testing.assert_array_equal(np.isnan(clf.scores_), LABELED)


def test_minus_one_is_a_class_like_any_other_unless_said_otherwise():
    classes, numbers = read_labels(np.array([-1, 1, -1]), None, 3)
    assert list(classes) == [-1, 1]
    assert list(numbers) == [0, 1, 0]
    classes, numbers = read_labels(np.array([-1, 1, -1]), -1, 3)
    assert list(classes) == [1]
    assert list(numbers) == [-1, 0, -1]
    classes, numbers = read_labels(np.array([True, False]), None, 2)
    assert list(numbers) == [1, 0]
    assert list(read_labels(np.array(["a", "b"]), -1, 2)[1]) == [0, 1]


@BOTH
def test_labels_that_cannot_be(cls):
    for labels, words in [
        (np.full(60, np.nan), "no label at all"),
        ([None] * 60, "no label at all"),
        (None, "y to be passed"),
        (partly(NUMBERS, np.nan)[:59], "inconsistent numbers"),
        (np.where(LABELED, np.inf, np.nan), "infinity"),
        (np.where(LABELED, y / 3, np.nan) + np.arange(60) / 7, "Unknown label type"),
        (np.array(["a", 1, *[None] * 58], dtype=object), "mix strings"),
        (np.tile(partly(NUMBERS, np.nan)[:, None], 2), "1d|1D"),
    ]:
        with pytest.raises(ValueError, match=words):
            cls().fit(X, labels)


# --- shares that cannot be ---------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.5, "positive_fraction"),
        (-0.1, "positive_fraction"),
        (np.nan, "positive_fraction"),
        ("half", "positive_fraction"),
        ({0: 0.5}, "no fraction for 1"),
        ({0: 0.5, 1: 0.6}, "sum to 1"),
        ({0: 1.5, 1: -0.5}, "sum to 1"),
        ({0: 0.5, 1: 0.4, "a": 0.1}, "mix strings"),
    ],
)
def test_impossible_shares(cls, share, words):
    with pytest.raises(ValueError, match=words):
        fitted(cls, positive_fraction=share)


def test_a_share_of_two_classes_is_none_of_three():
    labels = np.where(np.arange(60) < 9, np.arange(60) % 3, -1)
    with pytest.raises(ValueError, match="Give a dict"):
        SubmodS3VM(positive_fraction=0.3, unlabeled=-1).fit(X, labels)


@BOTH
def test_shares_of_nothing_and_everything(cls):
    for share in (0.0, 1.0):
        clf = fitted(cls, positive_fraction=share)
        assert set(clf.transduction_[~LABELED]) == {share}
        np.testing.assert_array_equal(clf.transduction_[LABELED], NUMBERS[LABELED])
    for share in (1e-9, 1 - 1e-9):  # every class gets a row
        assert set(fitted(cls, positive_fraction=share).transduction_[~LABELED]) == {0, 1}


# --- few labels, few rows ----------------------------------------------------------------------------------


@BOTH
def test_labels_of_one_class(cls):
    one = np.where(LABELED & (y > 0), 1.0, np.nan)
    with pytest.warns(UserWarning, match="All labels are"):
        clf = cls().fit(X, one)
    assert set(clf.transduction_) == {1.0}
    assert set(clf.predict(X[:3])) == {1.0}
    with pytest.raises(ValueError, match="only one class"):
        clf.decision_function(X)
    with pytest.raises(ValueError, match="including the class without a label"):
        cls(positive_fraction=0.5).fit(X, one)
    clf = cls(positive_fraction={1: 0.5, 0: 0.5}, kernel="linear").fit(X, one)
    assert list(clf.classes_) == [0, 1]
    signs = np.where(np.isnan(one), 0.0, 1.0)
    twin = transduce(from_rows(scale_rows(X), signs), signs, 0.5)
    np.testing.assert_array_equal(clf.transduction_ == 1, twin == 1)
    assert np.mean(clf.predict(X) == clf.transduction_) > 0.85


@BOTH
def test_all_rows_labeled_is_the_supervised_learner(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = cls(random_state=0).fit(X, NUMBERS)
    np.testing.assert_array_equal(clf.transduction_, NUMBERS)
    assert clf.n_evaluations_ == 0
    assert clf.positive_fraction_ == pytest.approx(NUMBERS.mean())
    Z = scale_rows(X, unit=False)  # few features: the kernel is "rbf"
    direct = clone(clf.estimator_).fit(Z, NUMBERS)
    np.testing.assert_allclose(clf.decision_function(X), direct.decision_function(Z))


@BOTH
@pytest.mark.parametrize("n", [1, 2, 3])
def test_hardly_any_unlabeled_rows(cls, n):
    rows, labels = X[: 8 + n], np.r_[NUMBERS[:8], [np.nan] * n]
    clf = cls(random_state=0).fit(rows, labels)
    assert len(clf.transduction_) == 8 + n
    assert clf.scores_.shape == (8 + n,)


@BOTH
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rows_of_zeros_duplicates_and_constants(cls, kernel):
    rows = np.vstack([X, np.zeros((5, X.shape[1])), X[20:30]])
    rows = np.hstack([rows, np.full((75, 1), 1e6)])
    labels = np.r_[partly(NUMBERS, np.nan), [np.nan] * 15]
    for scaling in ("auto", "unit", "none"):
        clf = cls(kernel=kernel, scaling=scaling, positive_fraction=0.5, estimator=None).fit(rows, labels)
        assert np.sum(clf.transduction_[np.isnan(labels)]) == 34  # of 67, rounded half up
    assert np.isfinite(clf.scores_[np.isnan(labels)]).all()


@BOTH
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_values_that_cannot_be(cls, value):
    broken = X.copy()
    broken[3, 1] = value
    for rows in (broken, sparse.csr_matrix(broken)):
        clf = fitted(cls)
        before = clf.transduction_
        with pytest.raises(ValueError, match=r"NaN|infinity|overflows"):
            clf.fit(rows, partly(NUMBERS, np.nan))
        assert clf.transduction_ is before  # a call that is refused changes nothing
        with pytest.raises(ValueError, match=r"NaN|infinity|overflows"):
            clf.predict(rows)


@BOTH
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"C": 0}, "'C'"),
        ({"rho": -1}, "'rho'"),
        ({"kernel": "chi2"}, "'kernel'"),
        ({"gamma": 0}, "'gamma'"),
        ({"scaling": "log"}, "'scaling'"),
        ({"balance_classes": "yes"}, "'balance_classes'"),
        ({"n_components": 0}, "'n_components'"),
        ({"estimator": "svm"}, "'estimator'"),
        ({"estimator": KNeighborsClassifier()}, "does not accept sample_weight"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_settings_that_cannot_be(cls, settings, words):
    with pytest.raises(ValueError, match=words):
        fitted(cls, **settings)


@BOTH
def test_matrices_that_cannot_be(cls):
    K = X @ X.T
    for rows, settings, words in [
        (np.triu(K), {}, "symmetric"),
        (sparse.csr_matrix(K), {}, "dense"),
        (K, {"n_components": 5}, "needs rows"),
    ]:
        with pytest.raises(ValueError, match=words):
            fitted(cls, rows, kernel="precomputed", **settings)


# --- formats -----------------------------------------------------------------------------------------------

FRAMES = {
    "float32": lambda X: X.astype(np.float32),
    "Fortran": np.asfortranarray,
    "list": np.ndarray.tolist,
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcde")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcde")),
}


@pytest.mark.parametrize("form", FRAMES)
def test_dense_formats(form):
    clf = fitted(rows=FRAMES[form](X))
    np.testing.assert_array_equal(clf.transduction_, EXPECTED)
    np.testing.assert_array_equal(clf.predict(FRAMES[form](X)), fitted().predict(X))
    if form in ("pandas", "polars"):
        assert list(clf.feature_names_in_) == list("abcde")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_components", [None, 20])
def test_sparse_is_dense(kernel, n_components):
    rows = np.where(np.abs(X) > 0.7, X, 0)
    settings = {"kernel": kernel, "scaling": "unit", "n_components": n_components}
    dense, thin = fitted(rows=rows, **settings), fitted(rows=sparse.csr_array(rows), **settings)
    np.testing.assert_array_equal(dense.transduction_, thin.transduction_)
    np.testing.assert_allclose(dense.scores_, thin.scores_, atol=1e-6)  # as exact as the SVM's multipliers
    np.testing.assert_allclose(
        dense.decision_function(rows), thin.decision_function(sparse.coo_matrix(rows)), atol=1e-3
    )
    np.testing.assert_array_equal(dense.predict(rows), dense.predict(sparse.csr_matrix(rows)))


def test_rows_that_come_later_are_scaled_as_the_first_ones():
    for kernel in ("linear", "rbf"):
        geometry, wanted = Geometry.of(X, SubmodS3VM(kernel=kernel)), scale_rows(X, unit=kernel == "linear")
        before = X.copy()
        np.testing.assert_allclose(geometry.scaled(X), wanted)
        np.testing.assert_allclose(geometry.scaled(X[:3]), wanted[:3])
        np.testing.assert_allclose(geometry.scaled(sparse.csr_matrix(X)), wanted)
        np.testing.assert_array_equal(X, before)
    clf = fitted()
    np.testing.assert_allclose(clf.decision_function(X[:3]), clf.decision_function(X)[:3])


def test_a_million_columns_stay_sparse():
    random = np.random.default_rng(0)
    n, wide = 400, 1_300_000
    truth = random.integers(0, 2, n)
    noise = random.integers(1000, wide, (n, 30))
    words = random.integers(0, 40, (n, 20)) + 40 * truth[:, None]
    columns = np.concatenate([noise, words], axis=1).ravel().astype(np.int64)
    rows = sparse.csr_matrix((np.ones(n * 50), columns, np.arange(0, n * 50 + 1, 50)), shape=(n, wide))
    labels = np.where(np.arange(n) < 20, truth, -1)
    clf = SubmodS3VM(unlabeled=-1, random_state=0).fit(rows, labels)
    assert np.mean(clf.transduction_ == truth) > 0.97
    assert clf.score(rows, truth) > 0.97
    fast = SubmodS3VM(unlabeled=-1, solver="fast", positive_fraction=0.5, estimator=None).fit(rows, labels)
    assert np.mean(fast.transduction_ == truth) > 0.95


def test_threads_change_nothing():
    rows, truth = clouds(500, 1)
    labels = np.where(np.arange(500) < 10, truth, np.nan)
    one = SubmodS3VM(kernel="rbf", positive_fraction=0.5, n_jobs=1, random_state=0).fit(rows, labels)
    two = SubmodS3VM(kernel="rbf", positive_fraction=0.5, n_jobs=2, random_state=0).fit(rows, labels)
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.decision_function(rows), two.decision_function(rows))


def test_in_a_pipeline_and_cloned():
    labels = partly(NUMBERS, np.nan)
    pipe = make_pipeline(StandardScaler(), SubmodS3VM(positive_fraction=0.5, random_state=0)).fit(X, labels)
    assert pipe.score(X, NUMBERS) > 0.9
    copy = clone(SubmodS3VM(positive_fraction={"a": 1.0}, estimator=LASVM(C=3)))
    assert copy.get_params()["estimator__C"] == 3


def test_progress_is_shown(capsys):
    fitted(kernel="rbf", verbose=True)
    assert "choosing" in capsys.readouterr().err


# --- saving ------------------------------------------------------------------------------------------------

SAVED = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf"},
    "estimated": {"positive_fraction": None},
    "shares": {"positive_fraction": {0: 0.4, 1: 0.6}},
    "nystroem": {"kernel": "rbf", "n_components": 10},
    "no rule": {"estimator": None},
    "a rule of everlearn": {"estimator": LASVM(C=2, kernel="linear", random_state=0)},
}


@BOTH
@pytest.mark.parametrize("case", SAVED)
def test_saved_and_loaded(cls, case, tmp_path):
    clf = fitted(cls, **SAVED[case])
    for way in ("file", "pickle"):
        if way == "file":
            everlearn.save(clf, tmp_path / "model")
            back = everlearn.load(tmp_path / "model")
        else:
            back = pickle.loads(pickle.dumps(clf))
        assert type(back) is cls
        for name in ("transduction_", "supervised_transduction_", "scores_", "classes_"):
            np.testing.assert_array_equal(getattr(back, name), getattr(clf, name))
        assert back.positive_fraction_ == clf.positive_fraction_
        assert back.objective_ == clf.objective_
        assert back.get_params(deep=False).keys() == clf.get_params(deep=False).keys()
        assert back.positive_fraction == clf.positive_fraction
        if case != "no rule":
            np.testing.assert_array_equal(back.decision_function(X), clf.decision_function(X))
            np.testing.assert_array_equal(back.predict(X), clf.predict(X))
        again = back.fit(X, partly(NUMBERS, np.nan))
        np.testing.assert_array_equal(again.transduction_, clf.transduction_)


def test_saved_with_names_and_many_classes(tmp_path):
    labels = np.array(["a", "b", "c"], dtype=object)[np.arange(60) % 3]
    labels[9:] = None
    clf = SubmodS3VM(random_state=0).fit(X, labels)
    everlearn.save(clf, tmp_path / "model")
    back = everlearn.load(tmp_path / "model")
    assert back.positive_fraction_ == clf.positive_fraction_
    np.testing.assert_array_equal(back.predict(X), clf.predict(X))


def test_saved_before_it_has_learned(tmp_path):
    everlearn.save(SubmodS3VM(rho=0.3, estimator=LASVM(C=5)), tmp_path / "model")
    back = everlearn.load(tmp_path / "model")
    assert back.rho == 0.3
    assert back.estimator.C == 5
    assert not hasattr(back, "transduction_")


def test_a_foreign_rule_is_not_saved(tmp_path):
    clf = fitted(estimator=LogisticRegression())
    with pytest.raises(TypeError, match="LogisticRegression cannot be saved"):
        everlearn.save(clf, tmp_path / "model")
    assert pickle.loads(pickle.dumps(clf)).score(X, NUMBERS) == clf.score(X, NUMBERS)
