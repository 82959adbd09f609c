"""DistributedS3VM: labels and objective of one machine."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from cluster_helpers import cluster, kill_a_worker
from everlearn import QPS3VM, SubmodS3VM
from everlearn.distributed import DistributedS3VM, distributed_s3vm


@pytest.fixture(scope="module")
def client():
    with cluster() as found:
        yield found


def digits(n_class, labels):
    X, y = load_digits(n_class=n_class, return_X_y=True)
    return X, y, np.where(np.arange(len(X)) < labels, y.astype(float), np.nan)


def in_chunks(X, y, rows=150):
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


@pytest.mark.parametrize(
    ("n_class", "labels", "learner"),
    [
        (2, 6, SubmodS3VM(random_state=0)),
        (2, 6, SubmodS3VM(random_state=0, C=3.0, label_scores="similarity", balance_classes=True)),
        (4, 30, SubmodS3VM(random_state=0)),
        (4, 30, SubmodS3VM(random_state=0, kernel="rbf", n_components=100, rho=0.5)),
    ],
)
def test_labels_and_objective_are_those_of_one_machine(client, n_class, labels, learner):
    X, _, y = digits(n_class, labels)
    found = DistributedS3VM(learner, client=client).fit(*in_chunks(X, y))
    central = SubmodS3VM(**learner.get_params() | {"solver": "fast", "estimator": None}).fit(X, y)
    np.testing.assert_array_equal(found.transduction_, central.transduction_)
    np.testing.assert_array_equal(found.supervised_transduction_, central.supervised_transduction_)
    assert found.objective_ == pytest.approx(central.objective_, rel=1e-9)
    assert found.positive_fraction_ == central.positive_fraction_
    assert found.rho_ == central.rho_


def test_a_sample_decides_what_shards_share(client):
    X, digit, y = digits(2, 6)
    found = DistributedS3VM(SubmodS3VM(random_state=0), sample=100, client=client).fit(*in_chunks(X, y))
    assert np.mean(found.transduction_ == digit) > 0.95  # the fraction of a class is an estimate
    # Vectors of a few columns travel, and numbers for each row, but not the rows.
    assert found.bytes_sent_ < X.nbytes


def test_files_frames_sparse_rows_words_and_partitions_without_some_kinds(client, tmp_path):
    X, digit, y = digits(2, 40)
    names = np.array(["zero", "one"], dtype=object)[digit]
    names[np.isnan(y)] = None
    learner = SubmodS3VM(random_state=0)
    expected = SubmodS3VM(random_state=0, solver="fast", estimator=None).fit(X, names).transduction_
    frame = pd.DataFrame(X).add_prefix("p").assign(digit=names)
    for k, part in enumerate((slice(0, 40), slice(40, 40), slice(40, None))):  # labeled, empty, unlabeled
        frame.iloc[part].to_parquet(tmp_path / f"part{k}.parquet")
    for kind, given in {"files": (tmp_path, "digit"), "frame": (frame, "digit"), "rows": (X, names)}.items():
        found = DistributedS3VM(learner, client=client).fit(*given)
        np.testing.assert_array_equal(found.transduction_, expected, err_msg=kind)
    found = DistributedS3VM(SubmodS3VM(random_state=0, scaling="none"), client=client)
    dense = found.fit(X, names).transduction_
    np.testing.assert_array_equal(found.fit(sparse.csr_matrix(X), names).transduction_, dense)


def test_a_killed_worker_changes_nothing(client, monkeypatch):
    X, _, y = digits(2, 6)
    learner = SubmodS3VM(random_state=0)
    expected = DistributedS3VM(learner, client=client).fit(*in_chunks(X, y))
    original, calls = distributed_s3vm._Shards.project, []

    def project(self, columns):
        calls.append(1)
        if len(calls) == 2:
            kill_a_worker(self._client)
        return original(self, columns)

    monkeypatch.setattr(distributed_s3vm._Shards, "project", project)
    with cluster() as other:
        found = DistributedS3VM(learner, client=other).fit(*in_chunks(X, y))
    np.testing.assert_array_equal(found.transduction_, expected.transduction_)
    assert found.objective_ == expected.objective_


@pytest.mark.parametrize(
    ("learner", "given", "error", "message"),
    [
        (QPS3VM(), {}, TypeError, "learner must be a SubmodS3VM, got QPS3VM"),
        (SubmodS3VM(kernel="rbf"), {}, ValueError, "set n_components"),
        (SubmodS3VM(solver="greedy"), {}, ValueError, 'solver="fast" or "auto"'),
        (SubmodS3VM(kernel="precomputed"), {}, ValueError, "kernel='precomputed' has none"),
        (None, {"sample": 0}, ValueError, "sample must be an integer of at least 1, got 0"),
    ],
)
def test_what_cannot_be_done_is_refused(client, learner, given, error, message):
    X, _, y = digits(2, 6)
    with pytest.raises(error, match=message):
        DistributedS3VM(learner, client=client, **given).fit(X, y)


def test_rows_without_any_label_are_refused(client):
    X, _, y = digits(2, 0)
    with pytest.raises(ValueError, match="no label at all"):
        DistributedS3VM(client=client).fit(X, y)
