"""The driver of `make sanitize`: a short run without sanitizers, and that it notices what it should."""

import io

import pytest

from everlearn import LASVM
from everlearn.errors import CoreError
from sanitize.random_calls import LEARNERS, run


def test_random_calls_end_in_success_or_a_refusal():
    done, made = run(seed=1, calls=6 * len(LEARNERS), each=6)
    assert made == 6 * len(LEARNERS)
    assert set(done) == set(LEARNERS)
    assert done.total() > made / 2


@pytest.mark.parametrize("error", [CoreError, IndexError, MemoryError, SystemError])
def test_anything_else_is_an_error_and_names_the_calls(error, monkeypatch):
    def broken(*_, **__):
        raise error("broken")

    monkeypatch.setattr(LASVM, "partial_fit", broken)
    told = io.StringIO()
    with pytest.raises(error, match="broken"):
        run(seed=0, calls=200, learners=["LASVM"], out=told)
    assert "seed 0, life" in told.getvalue()
    assert "partial_fit']" in told.getvalue()


def test_a_seed_decides_about_every_call():
    one, other = (run(seed=5, calls=60, learners=["IDSVM", "KOIL"], each=15) for _ in range(2))
    assert one == other
