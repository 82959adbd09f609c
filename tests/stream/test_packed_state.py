"""The packed state is the same bytes before closing, after reopening, and after folding the log again."""

import pytest
from scipy import sparse

from everlearn import IDSVM, LASVM, AdaptiveSVM
from everlearn._base import persist
from everlearn.semi import StreamS3VM
from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import answer, drop, opened, xor

X, Y = xor(120)
KINDS = {
    "LASVM": {"learner": LASVM(C=10, gamma=0.5)},
    "IDSVM": {"learner": IDSVM(C=10, gamma=0.5)},
    "AdaptiveSVM": {"learner": AdaptiveSVM(scaling="none", max_rows=40)},
    "semi_supervised": {"semi_supervised": StreamS3VM(memory_rows=60)},
}


@pytest.mark.parametrize("sparse_rows", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_of_the_state(tmp_path, kind, sparse_rows):
    truth = [["no", "yes"][label] for label in Y]
    learner = opened(tmp_path / "store", snapshot_every=50, **KINDS[kind])
    for start in range(0, 120, 20):
        rows = X[start : start + 20]
        labels = [label if i % 4 == 0 else None for i, label in enumerate(truth[start : start + 20])]
        learner.step(sparse.csr_matrix(rows) if sparse_rows else rows, labels)
        answer(learner, truth)
    before = persist.pack(learner._state.state())
    learner.close()
    with NeverEndingLearner.open(tmp_path / "store") as learner:
        assert persist.pack(learner._state.state()) == before
        with learner._log.transaction() as db:
            db.exec_driver_sql("DELETE FROM snapshots")
        drop(learner)
    with NeverEndingLearner.open(tmp_path / "store") as learner:
        assert persist.pack(learner._state.state()) == before
