"""What every learner that forgets promises: nothing of a row is left, in the object or in its file.

A value of a row is a double that nobody else has: whoever stores it is found by its eight bytes.
"""

import pickle
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import everlearn
from base.persist_helpers import same
from budget.native_helpers import KERNEL_LEARNERS
from budget.native_helpers import make as make_one_pass
from contract.contract_helpers import ESTIMATORS
from everlearn import (
    IDSVM,
    LASVM,
    OAM,
    OPAUC,
    AdaptiveSVM,
    AveragedKernelPerceptron,
    CalibratedClassifier,
    Exemplars,
    FullSVM,
    LocalSVM,
    OnlineSVMR,
    RampSVM,
    StreamS3VM,
    SubmodS3VM,
)
from everlearn._base.learner import KernelLearner
from everlearn._base.online import StreamLearner
from svm.noise_helpers import make as make_svm

FORGETTING = [cls for cls in ESTIMATORS if hasattr(cls(), "forget")]
ALL = [cls for cls in FORGETTING if hasattr(cls, "predict")]
SVMS = [cls for cls in ALL if issubclass(cls, KernelLearner) and cls not in KERNEL_LEARNERS]
STREAMS = [cls for cls in ALL if hasattr(cls, "partial_fit")]
FOREIGN = [cls for cls in ALL if issubclass(cls, KernelLearner) and "kernel" in cls().get_params()]


def make(cls, **options):
    if cls in SVMS:
        return make_svm(cls, **options)
    if cls is AdaptiveSVM:
        return AdaptiveSVM(max_rows=200, random_state=0)
    if cls is StreamS3VM:
        return StreamS3VM(SubmodS3VM(positive_fraction=0.5), random_state=0)
    if cls is CalibratedClassifier:
        return CalibratedClassifier(LASVM(C=2.0, gamma=0.3), random_state=0)
    return make_one_pass(cls, budget=30, gamma=0.3, **options)


def rows_and_labels(way="dense", n=90, seed=0):
    """Overlapping clouds; sparse rows have a column of their own each."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.standard_normal((n, 4))
    X[:, 0] += y
    if way == "far from the origin":
        X += 50
    if way == "sparse":
        X = sparse.hstack([sparse.csr_matrix(X), sparse.diags(rng.uniform(1, 2, n))], format="csr")
    return X, y


def learn(model, X, y, **options):
    """In blocks, or all at once where there is no other way."""
    if isinstance(model, RampSVM):
        return model.fit(X, y)
    for start in range(0, len(y), 30):
        part = slice(start, start + 30)
        first = {} if start else {"classes": [-1, 1]}
        names = {name: values[part] for name, values in options.items()}
        model.partial_fit(X[part], y[part], **first, **names)
    return model


def ids_of(model):
    """The ids of the rows that a learner keeps."""
    if isinstance(model, CalibratedClassifier):
        return ids_of(model.estimator_)
    if hasattr(model, "_machine"):
        return np.asarray(model._machine.native.kept_ids)
    return np.asarray(model.ids_)


def numbers_of(model):
    """All ids in the learner, those of rows that linger or are in reserve included."""
    learner = model.estimator_ if isinstance(model, CalibratedClassifier) else model
    machine = getattr(learner, "_machine", None)
    if machine is None:
        return ids_of(model)
    return np.unique(np.concatenate([machine.native.ids, machine.native.reserved_ids]))


def packed(model):
    """Everything that the learner holds, and everything that its file holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.everlearn"
        everlearn.save(model, path)
        return pickle.dumps(model) + path.read_bytes()


def facts(state):
    """A state but for the kernel values computed, of which a copy that was loaded computes more."""
    if isinstance(state, dict):
        return {name: facts(value) for name, value in sorted(state.items()) if name != "evaluations"}
    return [facts(value) for value in state] if isinstance(state, (list, tuple)) else state


def reloaded(model):
    with tempfile.TemporaryDirectory() as folder:
        everlearn.save(model, Path(folder) / "model.everlearn")
        return everlearn.load(Path(folder) / "model.everlearn")


def values_of(row):
    """The bytes of each value of a row, as it came and less a center."""
    return [np.float64(value).tobytes() for value in (row.data if sparse.issparse(row) else row)]


def held(content, row):
    return [value in content for value in values_of(row)]


def columns_in(state):
    """All arrays of column numbers in a state."""
    if isinstance(state, dict):
        found = [state["columns"]] if isinstance(state.get("columns"), np.ndarray) else []
        return found + [part for value in state.values() for part in columns_in(value)]
    if isinstance(state, (list, tuple)):
        return [part for value in state for part in columns_in(value)]
    return [state.indices] if sparse.issparse(state) else []


# --- nothing is left ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["dense", "sparse"])
@pytest.mark.parametrize("cls", ALL)
def test_no_byte_of_a_forgotten_row_is_left(cls, way):
    X, y = rows_and_labels(way)
    model = learn(make(cls), X, y)
    gone = ids_of(model)[::2]
    before = packed(model)
    if cls is not AdaptiveSVM or way == "sparse":
        assert all(all(held(before, X[row])) for row in gone)  # the search would find them
    model.forget(gone)
    after = packed(model)
    for row in gone:
        assert not any(held(after, X[row])), row
    assert not np.isin(numbers_of(model), gone).any()
    if way == "sparse":
        own = {4 + int(row) for row in gone}
        assert not any(own & set(columns.tolist()) for columns in columns_in(model._get_state()))


@pytest.mark.parametrize("cls", FOREIGN)
def test_rows_kept_for_a_callable_kernel_go_as_well(cls):
    X, y = rows_and_labels()
    model = learn(make(cls, kernel=lambda A, B: 1 / (1 + np.square(A[:, None] - B).sum(axis=2))), X, y)
    gone = ids_of(model)[::2]
    before = [array.tobytes() for array in arrays_in(model)]
    assert any(X[gone[0]].tobytes() in array for array in before)
    model.forget(gone)
    for array in [array.tobytes() for array in arrays_in(model)]:
        assert not any(value in array for row in gone for value in values_of(X[row]))


def arrays_in(model):
    """The arrays of a learner whose kernel cannot be pickled: its state, and the rows for the kernel."""
    found, left = [], [model._machine.get_state(), vars(model._foreign)]
    while left:
        thing = left.pop()
        if isinstance(thing, dict):
            left += thing.values()
        elif isinstance(thing, np.ndarray):
            found.append(thing)
            if thing.base is not None:  # a view: all of what it is a view of is held
                left.append(thing.base)
    return found


@pytest.mark.parametrize("cls", [cls for cls in STREAMS if issubclass(cls, StreamLearner)])
def test_the_only_row_of_a_first_block_is_not_left_as_the_center(cls):
    X, y = rows_and_labels("far from the origin")
    model = make(cls).partial_fit(X[:1], y[:1], classes=[-1, 1]).partial_fit(X[1:9], y[1:9])
    assert np.array_equal(model._machine.spec["center"], X[0])
    assert 0 in numbers_of(model)
    model.forget(0)
    content = packed(model)
    assert not any(held(content, X[0]))
    if cls is not AveragedKernelPerceptron:
        rows, scores = model.support_vectors_, model.decision_function(X)
        values = np.exp(-model.gamma * np.square(X[:, None] - rows).sum(axis=2))
        expected = values @ model.dual_coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(scores, expected, atol=1e-5 * (1 + np.abs(expected).max()))
    model.partial_fit(X[9:], y[9:])  # and it goes on, even from no row at all
    model.forget(ids_of(model)).partial_fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("cls", [LASVM, IDSVM])
def test_a_linear_machine_has_no_row_for_its_center(cls):
    X, y = rows_and_labels("far from the origin")
    model = make(cls, kernel="linear").partial_fit(X[:1], y[:1], classes=[-1, 1]).partial_fit(X[1:], y[1:])
    model.forget(0)
    assert not any(held(packed(model), X[0]))


# --- what holds after it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ALL)
def test_what_is_not_kept_is_refused_and_nothing_changes(cls):
    X, y = rows_and_labels()
    model = learn(make(cls), X, y)
    before = packed(model)
    for ids in ([10_000], [int(ids_of(model)[0]), -7]):
        with pytest.raises(ValueError, match="keeps no row with the id"):
            model.forget(ids)
    for ids, kind in (([1.5], TypeError), (["a"], TypeError), ([3, 3], ValueError), ([[1], [2]], TypeError)):
        with pytest.raises(kind, match="ids must"):
            model.forget(ids)
    assert model.forget([]) is model
    assert packed(model) == before


@pytest.mark.parametrize("cls", ALL)
def test_a_learner_goes_on_bit_for_bit_after_forgetting_and_reloading(cls):
    X, y = rows_and_labels()
    model = learn(make(cls), X, y)
    model.forget(ids_of(model)[1::3])
    again = reloaded(model)
    assert same(facts(again._get_state()), facts(model._get_state()))
    if cls is not RampSVM:
        more = rows_and_labels(seed=1, n=40)
        model.partial_fit(*more)
        again.partial_fit(*more)
    assert np.array_equal(model.decision_function(X), again.decision_function(X))
    gone = ids_of(model)[::2]
    model.forget(gone)
    again.forget(gone)
    assert np.array_equal(model.decision_function(X), again.decision_function(X))
    assert same(facts(again._get_state()), facts(model._get_state()))


@pytest.mark.parametrize("cls", ALL)
def test_a_learner_that_forgot_everything_can_be_used(cls):
    X, y = rows_and_labels()
    model = learn(make(cls), X, y)
    model.forget(numbers_of(model))
    content = packed(model)
    assert not any(any(held(content, row)) for row in X)
    assert len(ids_of(model)) == 0
    if cls is not StreamS3VM:  # which abstains
        assert np.isfinite(model.decision_function(X)).all()
        assert set(model.predict(X)) <= {-1, 1}
    model = model.fit(X, y) if cls is RampSVM else model.partial_fit(X, y)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("cls", [LASVM, LocalSVM, IDSVM])
def test_coefficients_under_a_bias_sum_to_zero(cls):
    X, y = rows_and_labels()
    model = learn(make(cls), X, y)
    for _ in range(4):
        model.forget(ids_of(model)[::4])
        alpha = model._machine.native.alpha
        assert np.abs(alpha.sum(axis=1)).max() < 1e-9 * (1 + np.abs(alpha).max())


@pytest.mark.parametrize("cls", STREAMS)
def test_rows_may_have_ids_of_the_caller(cls):
    X, y = rows_and_labels()
    names = np.random.default_rng(0).permutation(10**6)[: len(y)].astype(np.int64)
    model = learn(make(cls), X, y, ids=names)
    kept = ids_of(model)
    assert np.isin(kept, names).all()
    with pytest.raises(ValueError, match=f"Duplicate id {kept[0]}"):
        model.partial_fit(X[:1], y[:1], ids=kept[:1])
    model.forget(kept[0])
    row = np.flatnonzero(names == kept[0])[0]
    assert not any(held(packed(model), X[row]))
    model.partial_fit(X[[row]], y[[row]], ids=kept[:1])


# --- what each of them gets to ------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [FullSVM, LASVM, OnlineSVMR, IDSVM, LocalSVM])
def test_learners_that_keep_all_rows_get_to_the_svm_of_the_rest(cls):
    X, y = rows_and_labels()
    options = {"tol": 1e-6, "finishing": "kept", "s": -np.inf, "max_idle": None, "min_gain": 1e-12}
    model, never = make(cls, **options), make(cls, **options)
    if cls is LASVM:
        model._keeps_rows = never._keeps_rows = True
    gone = np.arange(0, 90, 4)
    rest = np.setdiff1d(np.arange(90), gone)
    learn(model, X, y).forget(gone)
    learn(never, X[rest], y[rest])
    for svm in (model, never):
        if hasattr(svm, "finish"):
            svm.finish()
    np.testing.assert_allclose(model.decision_function(X), never.decision_function(X), atol=2e-4)


def test_the_ramp_svm_is_at_a_local_optimum_of_the_rows_left():
    X, y = rows_and_labels()
    model = RampSVM(C=2.0, gamma=0.3, tol=1e-6).fit(X, y)
    model.forget(model.support_[::3])
    state = model._machine.native.get_state()
    alpha, g, edge = state["alpha"][0], state["g"][0], state["edge"][0]
    label = np.where(state["labels"] == 1, 1, -1)
    K = np.exp(-0.3 * np.square(X[state["ids"]][:, None] - X[state["ids"]]).sum(axis=2))
    np.testing.assert_allclose(g, label - K @ alpha, atol=1e-5)
    assert np.array_equal(edge != 0, label * g <= 2)  # inside the ramp, or shut
    up, down = alpha < np.maximum(edge, 0), alpha > np.minimum(edge, 0)
    assert (g[up] <= 1e-6).all()
    assert (g[down] >= -1e-6).all()
    assert model.objective_ == pytest.approx(model._machine.native.objective)


# --- which promise holds ------------------------------------------------------------------------------------


def test_every_learner_says_what_it_promises():
    for cls in ESTIMATORS:
        promise = CalibratedClassifier().forgetting if cls is CalibratedClassifier else cls.forgetting
        assert promise in ("exact", "removal", "replay"), cls
        assert hasattr(cls(), "forget") == (promise != "replay"), cls
    assert [cls for cls in ESTIMATORS if cls.forgetting == "exact"] == [IDSVM]
    assert set(FORGETTING) - set(ALL) == {Exemplars}  # it predicts nothing
    assert {IDSVM, RampSVM, AdaptiveSVM, StreamS3VM, CalibratedClassifier, *KERNEL_LEARNERS} <= set(ALL)


def test_the_table_has_every_learner_with_its_promise():
    page = (Path(__file__).parents[1] / "docs" / "how-it-works.md").read_text()
    lines = [
        line.split("|")
        for line in page.splitlines()
        if re.match(r"\| `\w+`.* \| (exact|removal|replay) \|", line)
    ]
    table = {name: cells[2].strip() for cells in lines for name in re.findall(r"`(\w+)`", cells[1])}
    promises = {cls.__name__: cls().forgetting for cls in ESTIMATORS}
    assert table == promises


@pytest.mark.parametrize("cls", [OAM, OPAUC])
def test_linear_learners_forget_by_replay_only(cls):
    X, y = rows_and_labels()
    model = cls().fit(X, y)
    assert not hasattr(model, "forget")
    with pytest.raises(AttributeError, match="cannot forget a row"):
        model.forget(3)


def test_a_calibrated_learner_forgets_if_it_can():
    X, y = rows_and_labels()
    assert CalibratedClassifier(IDSVM()).forgetting == "removal"  # the calibration keeps scores
    assert CalibratedClassifier(OAM()).forgetting == "replay"
    assert not hasattr(CalibratedClassifier(OAM()), "forget")
    model = CalibratedClassifier(IDSVM(C=2.0, gamma=0.3)).fit(X, y)
    with pytest.raises(ValueError, match="keeps no row"):
        model.forget(1000)
    assert model.forget(range(10)).estimator_.n_kept_ == 80


# --- exemplars ----------------------------------------------------------------------------------------------


def test_exemplars_drop_row_numbers():
    X, _ = rows_and_labels()
    y = np.where(np.arange(90) < 5, 1.0, np.nan)
    few = Exemplars(20).fit(X, y)
    chosen, kept = few.indices_, few.kept_
    gone = [3, int(chosen[4])]
    assert few.forget(gone) is few
    assert np.array_equal(few.kept_, np.setdiff1d(kept, gone))
    assert np.array_equal(few.indices_, np.delete(chosen, 4))
    assert np.isnan(few.objective_)
    assert few.select(X).shape == (23, 4)
    again = reloaded(few)
    assert np.array_equal(again.kept_, few.kept_)
    before = pickle.dumps(few)
    with pytest.raises(ValueError, match="keeps no row with the id 3"):
        few.forget([int(few.kept_[0]), 3])
    assert pickle.dumps(few) == before
    assert few.forget(few.kept_).select(X).shape == (0, 4)
    assert len(few.fit(X, y).kept_) == 25
