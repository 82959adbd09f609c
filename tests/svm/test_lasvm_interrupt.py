"""Ctrl-C: learning stops soon, and the learner is as good as what it had learned until then."""

import subprocess
import sys

import numpy as np
import pytest

from everlearn import LASVM, _core
from svm.lasvm_helpers import assert_same, kernel_matrix, learned, two_clouds

SCRIPT = """
import os, signal, threading, time
import numpy as np
from everlearn import LASVM

def press_ctrl_c():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
"""

CASE = """
rng = np.random.default_rng(0)
X, y = rng.standard_normal((3000, 5)), rng.integers(0, 2, 3000)
{prepare}
started = time.monotonic()
threading.Thread(target=press_ctrl_c, daemon=True).start()
try:
    {learn}
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("nobody stopped it")
assert time.monotonic() - started < 10, "it stopped late"
assert set(model.predict(X)) <= {{0, 1}}
assert model.n_iter_ > 0
np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
model.partial_fit(X[:300], y[:300])
model.set_params(C=1.0, tol=0.1, epochs=1)
assert np.isfinite(model.decision_function(X)).all()
model.fit(X[:300], y[:300]).finish()
print({name!r})
"""

LONG = {
    "fit": ("model = LASVM(epochs=10**6)", "model.fit(X, y)"),
    "fit in chunks": (
        "X, y = rng.standard_normal((60000, 5)), rng.integers(0, 2, 60000)\nmodel = LASVM(C=10)",
        "model.fit(X, y)",
    ),
    "one long block": (
        "X, y = np.tile(X, (20, 1)), np.tile(y, 20)\nmodel = LASVM()",
        "model.partial_fit(X, y, classes=[0, 1])",
    ),
    "fit with candidates": ("model = LASVM(epochs=10**6, selection='active')", "model.fit(X, y)"),
    "fit with a callable": ("model = LASVM(kernel=lambda a, b: a @ b.T, epochs=10**6)", "model.fit(X, y)"),
    "finish": (
        "model = LASVM(C=1e6, kernel='linear', tol=1e-9, finishing=None).fit(X, y)",
        "model.finish()\n    while True: model.finish()",
    ),
}


def test_ctrl_c_stops_learning_and_the_learner_stays_usable():
    cases = [CASE.format(name=name, prepare=prepare, learn=learn) for name, (prepare, learn) in LONG.items()]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT + "".join(cases)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()) == (0, list(LONG)), done.stderr


def kernel(a, b):
    return kernel_matrix("rbf", a, b, gamma=0.3)


@pytest.mark.parametrize("door", ["native", "callable", "precomputed"])
@pytest.mark.parametrize("method", ["seed", "learn", "finish"])
def test_ctrl_c_right_after_the_core_has_worked(monkeypatch, door, method):
    """A signal that comes while the core is at work is raised the moment it returns."""
    X, y = two_clouds(300)
    rows = kernel(X, X) if door == "precomputed" else X
    model = LASVM(kernel={"native": "rbf", "callable": kernel}.get(door, door), gamma=0.3, random_state=0)
    work = getattr(_core.Lasvm, method)

    def interrupted(*args):
        work(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(_core.Lasvm, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, y)
    monkeypatch.undo()
    scores = model.decision_function(rows)
    slots = learned(model)
    expected = kernel(X, X[slots["ids"]]) @ slots["alpha"][0] + slots["bias"][0]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)
    model.finish()
    if door != "precomputed":
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
        model.partial_fit(rows, y).finish()
        assert model.score(rows, y) > 0.8
    fresh = LASVM(**model.get_params()).fit(rows, y)
    assert_same(learned(model.fit(rows, y)), learned(fresh))
