"""OAM and OPAUC beside their reference versions."""

import numpy as np
from hypothesis import strategies as st

from budget.budget_helpers import clouds
from budget.native_helpers import blocks, feed, repeats
from everlearn import OAM, OPAUC
from reference.generator import ReferenceGenerator
from reference.oam import ReferenceOAM
from reference.opauc import ReferenceOPAUC


def oam(features, budget, seed, C=0.3, column=0):
    below = ReferenceGenerator.of(seed, column).below
    return OAM(budget, C, random_state=seed), ReferenceOAM(features, C, budget, below)


def opauc(features, rank, seed, eta=0.05, column=0):
    """Rank 0 is the whole covariance."""
    normals = ReferenceGenerator.of(seed, column).normals
    native = OPAUC(eta, 0.01, rank=rank or "full", random_state=seed)
    return native, ReferenceOPAUC(features, eta, 0.01, rank or None, normals)


def learn_both(native, twin, X, y, sizes):
    """Learn block by block; weights agree after each, and the threshold lies halfway between the classes."""
    for part in blocks(len(y), sizes):
        feed(native, X[part], y[part])
        twin.run(X[part], y[part])
        np.testing.assert_allclose(native.coef_[0], twin.w, rtol=1e-9, atol=1e-12)
        assert native.n_iter_ == part.stop
    if min(twin.n.values()) == 0:
        assert native.intercept_.tolist() == [0.0]
        return
    means = twin.c if hasattr(twin, "c") else {c: twin.kept[c].mean(axis=0) for c in (1, -1)}
    middle = (twin.w @ means[1] + twin.w @ means[-1]) / 2
    np.testing.assert_allclose(native.intercept_, [-middle], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(native.decision_function(X), twin.decide(X) - middle, rtol=1e-9, atol=1e-11)


STREAMS = st.sampled_from([clouds, repeats])
FEATURES = st.integers(1, 6)
