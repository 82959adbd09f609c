"""The exact SVM under kernels that are none or that fail, and Ctrl-C."""

import subprocess
import sys
import textwrap
from contextlib import suppress

import numpy as np
import pytest

from everlearn import IDSVM, _core
from svm.idsvm_helpers import rbf
from svm.idsvm_native_helpers import Refused, known
from svm.lasvm_helpers import assert_same, two_clouds

# --- kernels that are none ----------------------------------------------------------------------------------


def bent(a, b):
    return np.tanh(0.3 * a @ b.T - 1)


def cubic(a, b):
    return (a @ b.T - 1) ** 3


def far(a, b):
    return 2 - np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))


ODD = {"sigmoid": "sigmoid", "bent": bent, "cubic": cubic, "far": far}


@pytest.mark.parametrize("what", ["learn", "look", "relabel", "forget"])
@pytest.mark.parametrize("name", ODD)
def test_a_kernel_that_is_none_is_refused_and_nothing_has_changed(name, what):
    """Whatever shows it: the machine stays what it was, exact for the rows that it keeps."""
    refusals = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 2)) * rng.choice([1, 10], (30, 1))
        labels = dict(enumerate(rng.choice([-1, 1], 30).tolist()))
        model = IDSVM(kernel=ODD[name], gamma=0.3, coef0=-1.0, C=[0.1, 1.0, 10.0][seed % 3])
        model.partial_fit(X[:1], [labels[0]], classes=[-1, 1])
        for i in range(1, 30):
            before, f = known(model), model.decision_function(X)
            try:
                model.partial_fit(X[[i]], [labels[i]], ids=[i])
                if what == "learn":
                    continue
                before, f = known(model), model.decision_function(X)
                if what == "look":
                    model.leave_one_out()
                    assert_same(known(model), before)
                elif what == "relabel":
                    model.relabel(i // 2 if i // 2 in model.ids_ else i, labels[i // 2] * -1)
                    labels[i // 2] *= -1
                elif i % 3 == 0:
                    model.forget(model.ids_[i % model.n_kept_])
            except ValueError as error:
                refusals += "not positive semi-definite" in str(error)
                np.testing.assert_array_equal(model.decision_function(X), f, f"seed {seed}, turn {i}")
                assert_same(known(model), before, f"seed {seed}, turn {i}")
            assert model.residual_ < 1e-6
    assert refusals > 5


def test_an_indefinite_matrix():
    X, y = two_clouds(40, 2)
    K = rbf(X, 0.5)
    K[30:, :] *= -1
    K[:, 30:] *= -1
    K[30:, 30:] = -rbf(X[30:], 0.5)  # K_ii = -1
    model = IDSVM(kernel="precomputed").partial_fit(K[:30], y[:30], classes=[0, 1])
    good = model.decision_function(K)
    for i in range(30, 40):
        with Refused(model, "not positive semi-definite"):
            model.partial_fit(K[[i]], y[[i]], ids=[i])
    np.testing.assert_array_equal(model.decision_function(K), good)
    model.forget(3)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        IDSVM(kernel="precomputed").fit(K, y)


def test_a_block_is_refused_as_a_whole():
    X, y = two_clouds(40, 2)
    K = rbf(X, 0.5)
    K[30:, 30:] *= -1
    model = IDSVM(kernel="precomputed").partial_fit(K[:20], y[:20], classes=[0, 1])
    with Refused(model, "not positive semi-definite"):
        model.partial_fit(K[20:], y[20:])


@pytest.mark.parametrize("door", ["callable", "precomputed"])
def test_a_change_of_many_calls_is_undone_as_a_whole(door):
    """Rows that left the window meanwhile are back, and so are labels."""
    X, y = two_clouds(300, 2)
    K = rbf(X, 0.5)
    K[250, :250] = K[:250, 250] = 5.0  # no kernel has values above those on its diagonal
    kernel, rows = "precomputed", K
    if door == "callable":
        kernel = lambda a, b: K[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))]  # noqa: E731
        rows = np.arange(300.0)[:, None]

    def learned():
        model = IDSVM(kernel=kernel, window=40).partial_fit(rows[:60], y[:60], classes=[0, 1])
        return model.relabel([30, 50], 1 - y[[30, 50]])

    model, again = learned(), learned()
    with Refused(model, "not positive semi-definite"):
        model.partial_fit(rows[60:], y[60:])
    assert model.ids_.tolist() == list(range(20, 60))
    for other in (model, again):
        other.partial_fit(rows[60:240], y[60:240], ids=range(60, 240)).forget([200, 239])
    assert_same(known(model), known(again))


def test_many_calls_with_a_kernel_of_the_core_are_undone_as_a_whole():
    X, y = two_clouds(400, 2)
    options = {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1, "window": 60}
    slow, good, shows, at = IDSVM(**options).partial_fit(X[:1], y[:1], classes=[0, 1]), [0], 0, 1
    while len(good) <= 80 or shows <= good[-1]:
        with suppress(ValueError):
            slow.partial_fit(X[[at]], y[[at]], ids=[at])
            good.append(at)
        shows = at if good[-1] != at else shows
        at += 1
    start, block = good[:10], [*good[10:], shows]  # two calls of the core
    model = IDSVM(**options).partial_fit(X[start], y[start], ids=start, classes=[0, 1])
    with Refused(model, "not positive semi-definite"):
        model.partial_fit(X[block], y[block], ids=block)
    model.partial_fit(X[block[:-1]], y[block[:-1]], ids=block[:-1])
    np.testing.assert_array_equal(model.decision_function(X), slow.decision_function(X))


def test_a_window_slides_over_a_block_of_any_kernel():
    X, y = two_clouds(200, 2)
    K = rbf(X, 0.5)
    native = IDSVM(gamma=0.5, window=50).partial_fit(X, y, classes=[0, 1])
    for kernel, rows in [(lambda a, b: rbf(a, 0.5, b), X), ("precomputed", K)]:
        model = IDSVM(kernel=kernel, window=50).partial_fit(rows, y, classes=[0, 1])
        np.testing.assert_array_equal(model.ids_, native.ids_)
        np.testing.assert_allclose(
            model.decision_function(rows), native.decision_function(X), rtol=0, atol=1e-8
        )


def test_a_failed_fit_leaves_the_old_machine():
    X, y = two_clouds(40, 2)
    K = rbf(X, 0.5)
    model = IDSVM(kernel="precomputed").fit(K, y)
    with Refused(model, "not positive semi-definite"):
        model.fit(-K, y)
    with Refused(model, "square"):
        model.fit(K[:10], y[:10])


def test_an_id_that_is_no_column_of_a_precomputed_kernel():
    X, y = two_clouds(40, 2)
    K = rbf(X, 0.5)
    model = IDSVM(kernel="precomputed").partial_fit(K[:20], y[:20], classes=[0, 1])
    with Refused(model, "column"):
        model.partial_fit(K[20:21], y[20:21], ids=[40])
    with Refused(model, "column"):
        model.partial_fit(K[20:21], y[20:21], ids=[-1])


# --- kernels that fail --------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_callable_that_fails_on_the_way(error):
    X, y = two_clouds(300, 2)
    calls = []

    def kernel(a, b):
        calls.append(len(a))
        if failing and len(calls) == failing:
            raise error("enough")
        return rbf(a, 0.5, b)

    failing = 0
    model = IDSVM(kernel=kernel).partial_fit(X[:50], y[:50], classes=[0, 1])
    calls.clear()
    failing = 1
    with Refused(model, "enough", error):
        model.partial_fit(X[50:60], y[50:60])
    with Refused(model, "enough", error):
        calls.clear()
        model.fit(X, y)
    calls.clear()
    failing = 3  # in the second turn of 128 rows: what was learned until then stays
    with pytest.raises(error, match="enough"):
        model.partial_fit(X[50:], y[50:])
    failing = 0
    rows = model.ids_
    np.testing.assert_array_equal(rows, np.arange(len(rows)))
    exact = IDSVM(gamma=0.5).partial_fit(X[: len(rows)], y[: len(rows)], classes=[0, 1])
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), rtol=0, atol=1e-8)
    model.forget(rows[::2]).partial_fit(X[:1], y[:1])
    exact.forget(rows[::2]).partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("door", ["native", "callable", "precomputed"])
@pytest.mark.parametrize("method", ["learn", "forget", "relabel", "leave_one_out", "gather", "settle"])
def test_ctrl_c_right_after_the_core_has_worked(monkeypatch, door, method):
    X, y = two_clouds(150, 2)
    rows = rbf(X, 0.5) if door == "precomputed" else X
    kernel = {"native": "rbf", "callable": lambda a, b: rbf(a, 0.5, b)}.get(door, door)
    model = IDSVM(kernel=kernel, gamma=0.5).partial_fit(rows[:100], y[:100], classes=[0, 1])
    work = getattr(_core.Incremental, method)

    def interrupted(*args):
        work(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(_core.Incremental, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        {
            "learn": lambda: model.partial_fit(rows[100:], y[100:]),
            "forget": lambda: model.forget(np.arange(70)),
            "relabel": lambda: model.relabel(np.arange(70), 1 - y[:70]),
            "leave_one_out": model.leave_one_out,
        }.get(method, lambda: model.fit(rows, y))()
    monkeypatch.undo()
    ids = model.ids_
    labels = np.array(y)
    if method == "relabel":
        labels[:64] = 1 - y[:64]
    exact = IDSVM(gamma=0.5).partial_fit(X[ids], labels[ids], classes=[0, 1], ids=ids)
    np.testing.assert_allclose(model.decision_function(rows), exact.decision_function(X), rtol=0, atol=1e-7)
    assert len(ids) == {"forget": 36}.get(method, 150 if method == "learn" and door == "native" else len(ids))
    model.forget(ids[-3:]).relabel(ids[:2], labels[ids[:2]])
    exact.forget(ids[-3:])
    np.testing.assert_allclose(model.decision_function(rows), exact.decision_function(X), rtol=0, atol=1e-7)


SCRIPT = """
import os, signal, threading, time
import numpy as np
from everlearn import IDSVM

rng = np.random.default_rng(0)
X = rng.standard_normal((6000, 3))
y = rng.integers(0, 2, 6000)  # nothing to learn: nearly all rows are support vectors, and it takes long
model = IDSVM(C=10.0, gamma=1.0).partial_fit(X[:100], y[:100], classes=[0, 1])

def press_ctrl_c():
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press_ctrl_c, daemon=True).start()
try:
    {work}
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("nobody stopped it")
assert 100 <= model.n_kept_ < 6000
assert model.residual_ < 1e-7
model.forget(model.ids_[:5]).partial_fit(X[:5], y[:5], ids=range(9000, 9005))
print("usable")
"""


@pytest.mark.parametrize("work", ["model.partial_fit(X[100:], y[100:])", "model.fit(X, y)"])
def test_ctrl_c_stops_learning_soon(work):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT).format(work=work)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "usable\n"), done.stderr
