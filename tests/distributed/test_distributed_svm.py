"""DistributedSVM on real clusters: the model of one machine, whatever happens to the workers."""

import gc
import pickle
import subprocess
import sys
import time
from functools import partial

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from cluster_helpers import cluster, kill_a_worker, noisy
from everlearn import LASVM, LASVMG
from everlearn.distributed import DistributedSVM
from everlearn.distributed._exchange import Cluster
from everlearn.distributed._partitions import in_partition
from everlearn.errors import InputError

C, GAMMA = 10.0, 4.0
LEARNER = LASVM(C=C, gamma=GAMMA, random_state=0)


@pytest.fixture(scope="module")
def client():
    with cluster() as found:
        yield found


def arrays(X, y, rows=400):
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


def assert_same_bits(one, other, X):
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(one.model_.support_, other.model_.support_)
    np.testing.assert_array_equal(one.model_.dual_coef_, other.model_.dual_coef_)


def assert_svc(svm, X, y, atol=1e-2):
    peer = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(svm.decision_function(X), peer.decision_function(X), rtol=0, atol=atol)


# ------------------------------------------------------------------------------------------------------ kinds


def test_every_kind_of_rows_gives_the_svm_of_all(client, tmp_path):
    X, y = noisy()
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=y)
    for k, part in enumerate(np.array_split(np.arange(len(y)), 3)):
        frame.iloc[part].to_parquet(tmp_path / f"part{k}.parquet")
    given = {
        "Dask arrays": arrays(X, y),
        "arrays of another division": (da.from_array(X, chunks=(500, 1)), da.from_array(y, chunks=700)),
        "ndarray": (X, y),
        "CSR": (sparse.csr_matrix(X), y),
        "pandas": (frame[["a", "b"]], frame["label"]),
        "pandas with a column": (frame, "label"),
        "Dask frame": (dd.from_pandas(frame, npartitions=3), "label"),
        "folder": (tmp_path, "label"),
        "pattern": (f"{tmp_path}/part*.parquet", "label"),
        "list": ([tmp_path / f"part{k}.parquet" for k in range(3)], "label"),
    }
    peer = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X, y).decision_function(X)
    for kind, (rows, labels) in given.items():
        svm = DistributedSVM(LEARNER, client=client).fit(rows, labels)
        values = svm.model_.decision_function(
            frame[["a", "b"]] if hasattr(svm.model_, "feature_names_in_") else X
        )
        np.testing.assert_allclose(values, peer, rtol=0, atol=1e-2, err_msg=kind)
        assert svm.rounds_[-1].violators == 0
        assert svm.n_partitions_ == {"ndarray": 2, "CSR": 2, "pandas": 2, "pandas with a column": 2}.get(
            kind, svm.n_partitions_
        )
    assert svm.n_partitions_ == 3


def test_predictions_of_a_dask_collection(client):
    X, y = noisy(800)
    rows, labels = arrays(X, y, 300)
    svm = DistributedSVM(LEARNER, client=client).fit(rows, labels)
    np.testing.assert_array_equal(svm.predict(rows).compute(), svm.model_.predict(X))
    np.testing.assert_array_equal(svm.decision_function(rows).compute(), svm.model_.decision_function(X))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    np.testing.assert_array_equal(svm.predict(frame.to_dask_array()).compute(), svm.model_.predict(X))


def test_several_classes_weights_and_sorted_labels(client):
    X, _ = noisy(900)
    y = np.digitize(X[:, 0] + 0.2 * np.sin(9 * X[:, 1]), [0.4, 0.7])
    order = np.argsort(y)  # partitions of a single class
    X, y = X[order], y[order]
    weights = np.random.default_rng(0).uniform(0.2, 2, len(y))
    learner = LASVM(C=C, class_weight="balanced", random_state=0)
    rows, labels = arrays(X, y, 150)
    svm = DistributedSVM(learner, client=client)
    svm.fit(rows, labels, sample_weight=da.from_array(weights, chunks=150))
    central = learner.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        svm.model_.decision_function(X), central.decision_function(X), rtol=0, atol=2e-2
    )
    assert svm.model_.gamma_ == pytest.approx(central.gamma_, rel=1e-12)
    np.testing.assert_array_equal(svm.model_._label_counts, np.bincount(y))


@pytest.fixture(scope="module")
def three():
    """Rows of three classes with weights, and their model on one machine."""
    X, _ = noisy(900)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.2 * np.sin(9 * X[:, 1]), [0.4, 0.7])]
    weights = np.random.default_rng(0).uniform(0.2, 2, len(y))
    learner = LASVM(C=C, gamma=GAMMA, class_weight="balanced", tol=1e-4, random_state=0)
    return X, y, weights, learner, LASVM(**learner.get_params()).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("partition", ["given", "kernel_kmeans"])
def test_classes_on_workers_give_the_model_of_one_machine(client, three, partition):
    X, y, weights, learner, central = three
    svm = DistributedSVM(learner, client=client, n_partitions=4, partition=partition, by_class=True)
    model = svm.fit(X, y, sample_weight=weights).model_
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, central.decision_function(X), rtol=0, atol=1e-2)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(svm.fit(X, y, weights).decision_function(X), scores)
    assert [step.violators for step in svm.rounds_].count(0) >= 3
    assert svm.n_kernel_evaluations_ > model.n_kernel_evaluations_ > 0
    # It knows labels and coefficients of its rows: there is nothing left to optimize, and it continues.
    np.testing.assert_allclose(model.finish().decision_function(X), scores, rtol=0, atol=1e-2)
    model.partial_fit(X[:9], y[:9]).finish()


def test_a_killed_worker_changes_no_class(client, three, monkeypatch):
    X, y, weights, learner, _ = three
    expected = DistributedSVM(learner, client=client, n_partitions=4, by_class=True).fit(X, y, weights)
    original = Cluster.submit

    def submit(self, what, *arguments):
        futures = original(self, what, *arguments)
        if what == "class":
            time.sleep(0.3)
            kill_a_worker(self.client)
        return futures

    monkeypatch.setattr(Cluster, "submit", submit)
    with cluster(3) as other:
        svm = DistributedSVM(learner, client=other, n_partitions=4, by_class=True).fit(X, y, weights)
    np.testing.assert_array_equal(svm.decision_function(X), expected.decision_function(X))


def test_the_model_continues_on_one_machine(client):
    X, y = noisy(900)
    svm = DistributedSVM(LEARNER, client=client).fit(X[:700], y[:700])
    model = svm.model_.partial_fit(X[700:], y[700:]).finish()
    assert_svc(svm, X, y)
    assert model.n_iter_ == 900
    model.forget([3, 5])


def test_what_was_moved_is_counted(client):
    X, y = noisy()
    svm = DistributedSVM(LEARNER, client=client).fit(*arrays(X, y))
    assert len(svm.model_.support_) <= svm.n_candidates_ + sum(step.violators for step in svm.rounds_)
    assert svm.bytes_received_ > svm.n_candidates_ * X.itemsize * 2
    assert 0 < svm.n_kernel_evaluations_ < 3 * LASVM(C=C, gamma=GAMMA).fit(X, y).n_kernel_evaluations_
    sent = [step.bytes_sent for step in svm.rounds_]
    assert sent == sorted(sent)
    assert sent[-1] <= svm.bytes_sent_


def test_workers_keep_nothing(client):
    X, y = noisy(600)
    gc.collect()  # what failed tests hold
    gc.disable()  # nothing may wait for the garbage collector
    try:
        for given in ((X, y), arrays(X, y)):
            DistributedSVM(LEARNER, client=client).fit(*given)
            deadline = time.time() + 20
            while any(client.has_what().values()) and time.time() < deadline:
                time.sleep(0.1)
            assert not any(client.has_what().values())
    finally:
        gc.enable()


# -------------------------------------------------------------------------------------------- what may happen


@pytest.fixture(scope="module")
def undisturbed(client):
    X, y = noisy()
    return DistributedSVM(LEARNER, client=client).fit(*arrays(X, y, 300))


def at_check(monkeypatch, number, action):
    """Do something when the partitions are about to be checked for the n-th time."""
    original, calls = Cluster.check, []

    def check(self, *arguments):
        calls.append(1)
        if len(calls) == number:
            action(self.client)
        return original(self, *arguments)

    monkeypatch.setattr(Cluster, "check", check)
    return calls


def test_the_same_partitions_give_the_same_bits(client, undisturbed):
    X, y = noisy()
    again = DistributedSVM(LEARNER, client=client).fit(*arrays(X, y, 300))
    assert_same_bits(again, undisturbed, X)


def test_a_killed_worker_changes_nothing(monkeypatch, undisturbed):
    X, y = noisy()
    with cluster() as client:
        calls = at_check(monkeypatch, 2, kill_a_worker)
        svm = DistributedSVM(LEARNER, client=client).fit(*arrays(X, y, 300))
    assert len(calls) > 2
    assert_same_bits(svm, undisturbed, X)


def test_a_killed_worker_and_rows_that_came_from_memory(monkeypatch):
    X, y = noisy(900)
    with cluster(3) as client:
        at_check(monkeypatch, 2, kill_a_worker)
        svm = DistributedSVM(LEARNER, client=client, n_partitions=4).fit(X, y)
    assert_svc(svm, X, y)


def test_a_worker_that_joins_changes_nothing(monkeypatch, undisturbed):
    X, y = noisy()
    with cluster(1) as client:
        at_check(monkeypatch, 2, lambda client: client.cluster.scale(3))
        svm = DistributedSVM(LEARNER, client=client).fit(*arrays(X, y, 300))
    assert_same_bits(svm, undisturbed, X)


def wait_in_every_task(seconds, dask_worker):
    """Make a worker slow: its tasks wait first."""
    from everlearn.distributed import _exchange

    original = _exchange.part_scores.Check.run

    def slow(self, *arguments):
        time.sleep(seconds)
        return original(self, *arguments)

    _exchange.part_scores.Check.run = slow


def test_a_slow_worker_changes_nothing(undisturbed):
    X, y = noisy()
    with cluster(2) as client:
        first = sorted(client.scheduler_info()["workers"])[0]
        client.run(partial(wait_in_every_task, 0.2), workers=[first])
        svm = DistributedSVM(LEARNER, client=client).fit(*arrays(X, y, 300))
    assert_same_bits(svm, undisturbed, X)


# ------------------------------------------------------------------------------------------------------ input


def test_bad_partitions_are_named(client):
    X, y = noisy(400)
    X[350, 1] = np.nan
    with pytest.raises(ValueError, match=r"Partition 3: .*NaN"):
        DistributedSVM(LEARNER, client=client).fit(*arrays(X, y, 100))
    names = np.array(["a", None], dtype=object)[(np.arange(400) == 130).astype(int)]
    with pytest.raises(ValueError, match=r"Partition 1: y has no label in 1 rows, such as row 30"):
        DistributedSVM(LEARNER, client=client).fit(*arrays(X[:, :1], names, 100))


def test_columns_without_numbers_are_named(client, tmp_path):
    X, y = noisy(200)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(city="Bonn", label=y)
    message = r"Partition \d: The column 'city' has no numbers, but values such as 'Bonn'"
    for given in (dd.from_pandas(frame, npartitions=2), dd.from_pandas(frame.astype({"city": "category"}))):
        with pytest.raises(ValueError, match=message):
            DistributedSVM(LEARNER, client=client).fit(given, "label")
    frame.assign(city=np.full(200, 1, dtype=object)).to_parquet(tmp_path / "numbers.parquet")
    svm = DistributedSVM(LEARNER, client=client).fit(tmp_path, "label")
    with pytest.raises(TypeError, match="predict takes rows, got the name of a file"):
        svm.predict(tmp_path)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (lambda X, y: (da.from_array(X), y), TypeError, "y is one, too"),
        (lambda X, y: (da.from_array(X), da.from_array(y[:50])), ValueError, "X has 200 rows and y has 50"),
        (lambda X, y: (X, y[:50]), ValueError, "X has 200 rows and y has 50"),
        (lambda X, y: (X, "label"), TypeError, "y must be labels"),
        (lambda X, y: (X, np.ones(200)), ValueError, "two classes or more"),
        (lambda X, y: (dd.from_pandas(pd.DataFrame(X)), "z"), ValueError, "y='z' is not a column"),
        (lambda X, y: ("nowhere/*.parquet", "z"), FileNotFoundError, "no Parquet file"),
        (lambda X, y: (["a.parquet"], y), TypeError, "y is the name of a column"),
        (
            lambda X, y: (["gone.parquet"], "z"),
            FileNotFoundError,
            r"^Partition 0: there is no file gone\.parquet\.$",
        ),
        (lambda X, y: (da.from_array(y), da.from_array(y)), ValueError, "two dimensions"),
    ],
)
def test_input_that_does_not_fit_is_refused(client, given, error, message):
    X, y = noisy(200)
    with pytest.raises(error, match=message):
        DistributedSVM(LEARNER, client=client).fit(*given(X, y))


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (FileNotFoundError(2, "No such file", "a.parquet"), FileNotFoundError, "there is no file a.parquet."),
        (FileNotFoundError("a.parquet"), FileNotFoundError, "there is no file a.parquet."),
        (TypeError("No number."), TypeError, "No number."),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"), ValueError, "'utf-8' codec .* no text"),
        (InputError("Bad.", code="bad", remedy="Mend it.", value=3), InputError, "Bad. Mend it."),
    ],
)
def test_errors_keep_what_they_say_when_they_name_the_partition(error, kind, message):
    with pytest.raises(kind, match=f"^Partition 7: {message}$") as caught, in_partition(7):
        raise error
    again = pickle.loads(pickle.dumps(caught.value))  # as from a worker
    assert type(again) is kind
    assert str(again) == str(caught.value)
    if kind is InputError:
        assert (again.code, again.remedy, again.value) == ("bad", "Mend it.", 3)


def test_wrong_parameters_are_refused(client):
    X, y = noisy(100)
    with pytest.raises(TypeError, match="learner must be a LASVM, got LASVMG"):
        DistributedSVM(LASVMG(), client=client).fit(X, y)
    with pytest.raises(ValueError, match="n_partitions must be an integer of at least 1, got 0"):
        DistributedSVM(client=client, n_partitions=0).fit(X, y)
    with pytest.raises(ValueError, match="built-in kernel"):
        DistributedSVM(LASVM(kernel="precomputed"), client=client).fit(X, y)
    with pytest.raises(ValueError, match="parameter 'C'"):
        DistributedSVM(LASVM(C=-1), client=client).fit(X, y)
    with pytest.raises(NotFittedError, match="call fit first"):
        DistributedSVM().predict(X)


def test_what_is_no_open_client_is_refused():
    X, y = noisy(100)
    with pytest.raises(TypeError, match=r"client must be a distributed.Client, got str"):
        DistributedSVM(client="tcp://127.0.0.1:8786").fit(X, y)
    with cluster(1) as closed:
        pass
    with pytest.raises(ValueError, match="The Dask client is closed"):
        DistributedSVM(client=closed).fit(X, y)


def test_without_a_client_the_error_says_how_to_get_one():
    code = """
from everlearn.distributed import DistributedSVM
try:
    DistributedSVM().fit([[0.0], [1.0]], [0, 1])
except ValueError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "There is no Dask client" in said
