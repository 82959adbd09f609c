"""The stream of payments: as it says it is, the same for the same seed, hard where it is meant to be."""

import csv
import datetime

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from everlearn.datasets import make_fraud_stream
from everlearn.metrics import g_means
from everlearn.read import open_source


@pytest.fixture(scope="module")
def stream():
    return make_fraud_stream(12_000, random_state=5)


def test_it_is_as_long_and_as_rare_as_it_says(stream):
    assert (
        len(stream) == len(stream.X) == len(stream.answers) == len(stream.ids) == len(stream.time) == 12_000
    )
    assert stream.truth.sum() == 600
    assert (stream.answers != stream.truth).sum() == 1200
    assert stream.drift_row == 6000
    assert len(set(stream.ids.tolist())) == 12_000
    assert (np.diff(stream.time) > 0).all()
    assert stream.X.dtype == np.float64
    assert stream.X.shape[1] == len(stream.feature_names)
    assert repr(stream) == "FraudStream(12,000 payments, 600 frauds, drift at row 6,000)"


def test_frauds_and_errors_are_spread_over_the_stream(stream):
    for what in (stream.truth, stream.answers != stream.truth):
        counts = np.add.reduceat(what, np.arange(0, 12_000, 1000)) / what.sum()
        assert (np.abs(counts - 1 / 12) < 1 / 24).all()


def test_errors_strike_both_classes(stream):
    wrong = stream.answers != stream.truth
    assert wrong[stream.truth == 1].mean() == pytest.approx(0.1, abs=0.05)
    assert wrong[stream.truth == 0].mean() == pytest.approx(0.1, abs=0.01)


def test_other_shares():
    clean = make_fraud_stream(1000, fraud_fraction=0.2, label_noise=0, drift_at=0.25, random_state=0)
    assert (clean.truth.sum(), clean.drift_row) == (200, 250)
    assert (clean.answers == clean.truth).all()
    assert make_fraud_stream(1000, drift_at=None, random_state=0).drift_row == 1000
    assert make_fraud_stream(2, random_state=0).truth.sum() == 1


def test_a_seed_is_a_stream():
    one, same, other = (make_fraud_stream(500, random_state=seed) for seed in (1, 1, 2))
    assert all((one.table[name] == same.table[name]).all() for name in one.table)
    assert (one.X == same.X).all()
    assert (one.truth == same.truth).all()
    assert not (one.X == other.X).all()


def test_noise_changes_the_answers_only():
    noisy, clean = (make_fraud_stream(500, label_noise=noise, random_state=1) for noise in (0.3, 0))
    assert (noisy.X == clean.X).all()
    assert (noisy.truth == clean.truth).all()
    assert (noisy.answers != clean.answers).sum() == 150


def test_drift_leaves_what_came_before():
    """Until the drift the stream is that without it; after it ordinary payments are alike, frauds are not."""
    early, never = (make_fraud_stream(8000, drift_at=place, random_state=1) for place in (0.5, None))
    assert (early.truth == never.truth).all()
    assert (early.X[:4000, 0] == never.X[:4000, 0]).all()
    after = np.arange(8000) >= 4000
    late = early.table["hour"] >= 20
    frauds = early.truth == 1
    assert late[frauds & after].mean() > 0.9
    assert late[frauds & ~after].mean() < 0.1
    assert late[~frauds & after].mean() == pytest.approx(late[~frauds & ~after].mean(), abs=0.02)


# ------------------------------------------------------------------------------------------------------ hard


def scores(model, stream, learned, judged):
    """g-means and AUC of a model, by the truth."""
    model = make_pipeline(StandardScaler(), model).fit(stream.X[learned], stream.truth[learned])
    true, rows = stream.truth[judged], stream.X[judged]
    return g_means(true, model.predict(rows)), roc_auc_score(true, model.decision_function(rows))


def test_no_linear_rule_will_do(stream):
    learned, judged = slice(0, 4000), slice(4000, 6000)
    g, auc = scores(SVC(C=10, gamma=0.05, class_weight="balanced"), stream, learned, judged)
    linear_g, linear_auc = scores(LinearSVC(class_weight="balanced"), stream, learned, judged)
    assert g > 0.9
    assert g > linear_g + 0.15
    assert auc > 0.98
    assert auc > linear_auc + 0.1


def test_what_was_learned_before_the_drift_fails_after_it(stream):
    svm = SVC(C=10, gamma=0.05, class_weight="balanced")
    before, _ = scores(svm, stream, slice(0, 4000), slice(4000, 6000))
    outdated, _ = scores(svm, stream, slice(0, 6000), slice(8000, 12_000))
    anew, _ = scores(svm, stream, slice(6000, 8000), slice(8000, 12_000))
    assert outdated < 0.7
    assert min(before, anew) > 0.9


# ------------------------------------------------------------------------------------------------------ files


def test_csv_is_the_table(stream, tmp_path):
    stream.write_csv(tmp_path / "plain.csv")
    stream.write_csv(tmp_path / "told.csv", truth=True)
    with open(tmp_path / "told.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*stream.table, "truth"]
    assert [int(row["truth"]) for row in rows] == stream.truth.tolist()
    assert [int(row["is_fraud"]) for row in rows] == stream.answers.tolist()
    assert [float(row["amount"]) for row in rows] == stream.X[:, 0].tolist()
    assert "truth" not in (tmp_path / "plain.csv").read_text(encoding="utf-8")
    first = datetime.datetime.fromisoformat(rows[0]["time"].replace("Z", "+00:00"))
    assert first.timestamp() == stream.time[0]


def test_a_source_reads_it(stream, tmp_path):
    stream.write_csv(tmp_path / "payments.csv")
    with open_source(tmp_path / "payments.csv", label="is_fraud", id="id", time="time") as source:
        batches = list(source)
        names = source.schema.feature_names
    assert source.quarantined == 0
    X = np.vstack([batch.X for batch in batches])
    places = [names.index(name) for name in stream.feature_names]
    assert (X[:, places] == stream.X).all()
    assert [label for batch in batches for label in batch.y] == stream.answers.tolist()
    assert np.concatenate([batch.time for batch in batches]).tolist() == stream.time.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_samples": 1}, "n_samples must be at least 2, got 1"),
        ({"fraud_fraction": 0.0}, "fraud_fraction must be a fraction between 0 and 1"),
        ({"fraud_fraction": 1}, "fraud_fraction must be a fraction between 0 and 1"),
        ({"label_noise": 1.5}, "label_noise must be a fraction between 0 and 1"),
        ({"drift_at": -0.1}, "drift_at must be a fraction between 0 and 1, or None"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        make_fraud_stream(**options)
