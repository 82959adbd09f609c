"""What tests of the compiled one-pass learners share: each beside its plain twin, streams, comparisons."""

import numpy as np
import pytest
from hypothesis import strategies as st

from budget.budget_helpers import NO_LIMIT, clouds
from everlearn import (
    KOIL,
    NORMA,
    OAM,
    OPAUC,
    RBP,
    AveragedKernelPerceptron,
    BudgetKernelPerceptron,
    Forgetron,
    KernelPA,
    KernelPerceptron,
    Projectron,
    ProjectronPP,
    auc,
    budget,
)
from reference.forgetron import ReferenceForgetron
from reference.generator import ReferenceGenerator
from reference.kernel_pa import ReferenceKernelPA
from reference.kernels import named
from reference.koil import ReferenceKOIL
from reference.norma import ReferenceNORMA
from reference.perceptrons import (
    ReferenceAveragedKernelPerceptron,
    ReferenceBudgetKernelPerceptron,
    ReferenceKernelPerceptron,
    ReferenceRBP,
)
from reference.projectron import ReferenceProjectron

LEARNERS = [getattr(room, name) for room in (budget, auc) for name in room.__all__]
LINEAR = [OAM, OPAUC]
KERNEL_LEARNERS = [cls for cls in LEARNERS if cls not in LINEAR]
ON_A_BUDGET = [cls for cls in LEARNERS if "budget" in cls().get_params()]


def make(cls, **options):
    """A learner with those of the options that its class has."""
    usual = {
        "budget": 6,
        "gamma": 0.7,
        "random_state": 0,
        "learning_rate": {OPAUC: 0.01}.get(cls, 0.1),
        "max_projection_error": 0.1,
        **options,
    }
    known = cls().get_params()
    return cls(**{name: value for name, value in usual.items() if name in known})


# --- kernels -----------------------------------------------------------------------------------------------


def single(kernel):
    """Values as the core keeps them, in single precision, so that what cancels there cancels here."""
    return lambda A, B: kernel(A, B).astype(np.float32).astype(float)


PARAMETERS = {
    "rbf": {"gamma": 0.7},
    "linear": {},
    "poly": {"gamma": 0.5, "coef0": 0.5, "degree": 3},  # at most 1 for rows of length 1
    "cosine": {},
    "laplacian": {"gamma": 0.7},
}
KERNELS = {  # a learner's parameters, and the same function
    name: ({"kernel": name, **parameters}, single(named(name, **parameters)))
    for name, parameters in PARAMETERS.items()
}

# --- learners and their twins ------------------------------------------------------------------------------

READINGS = {  # of KOIL, in the words of the learner and in those of the twin
    "": ({}, {}),
    "nearest of all": ({"neighbors_of": "all"}, {"nearest": "all"}),
    "weighted": ({"weighted_C": True}, {"weighted": True}),
    "literal": ({"literal": True}, {"bootstrap": False, "keep_zeros": True}),
}


class CountingKOIL(ReferenceKOIL):
    """Counts its mistakes, as the others do, and scores that cancel: these are 0 but for rounding."""

    n_mistakes = n_canceled = 0

    def learn(self, x, y):
        margin = y * self.decide(x)
        self.n_mistakes += int(margin < 1e-12)
        self.n_canceled += int(abs(margin) < 1e-12 and sum(map(len, self.kept.values())) > 0)
        super().learn(x, y)


def koil(kernel, budget, seed, replacement, reading="", n_neighbors=2, eta=0.1, column=0):
    """KOIL and its twin; budget None is no limit."""
    (options, function), (ours, theirs) = KERNELS[kernel], READINGS[reading]
    draws = ReferenceGenerator.of(seed, column)
    twin = CountingKOIL(
        function, 2.0, eta, n_neighbors, budget or NO_LIMIT, replacement, draws.below, **theirs
    )
    native = KOIL(
        budget, replacement, n_neighbors, C=2.0, learning_rate=eta, random_state=seed, **options, **ours
    )
    return native, twin


def pair(name, kernel, budget, seed=0, column=0):
    """A learner and its twin; column is the binary problem whose draws the twin has."""
    options, K = KERNELS[kernel]
    below = ReferenceGenerator.of(seed, column).below
    if name.startswith("koil"):
        return koil(kernel, budget, seed, *name.removeprefix("koil ").split(", "), column=column)
    makers = {
        "perceptron": lambda: (KernelPerceptron(**options), ReferenceKernelPerceptron(K)),
        "vote": lambda: (AveragedKernelPerceptron(**options), ReferenceAveragedKernelPerceptron(K)),
        "mean": lambda: (
            AveragedKernelPerceptron(average="mean", **options),
            ReferenceAveragedKernelPerceptron(K, "average"),
        ),
        "worst": lambda: (
            BudgetKernelPerceptron(budget, **options),
            ReferenceBudgetKernelPerceptron(K, budget),
        ),
        "worst, margin": lambda: (
            BudgetKernelPerceptron(budget, margin=0.3, **options),
            ReferenceBudgetKernelPerceptron(K, budget, 0.3),
        ),
        "rbp": lambda: (RBP(budget, random_state=seed, **options), ReferenceRBP(K, budget, below)),
        "forgetron": lambda: (Forgetron(budget, **options), ReferenceForgetron(K, budget)),
        "pa": lambda: (KernelPA(0.3, **options), ReferenceKernelPA(K, 0.3)),
        "pa, plain": lambda: (KernelPA(variant="PA", **options), ReferenceKernelPA(K, variant="pa")),
        "pa, squared": lambda: (
            KernelPA(0.3, variant="PA-II", **options),
            ReferenceKernelPA(K, 0.3, "pa2"),
        ),
        "norma": lambda: (
            NORMA(budget, learning_rate=0.3, alpha=0.2, **options),
            ReferenceNORMA(K, budget, 0.3, 0.2),
        ),
        "norma, nu": lambda: (
            NORMA(budget, learning_rate=0.3, alpha=0.2, rho=0.2, nu=0.37, fit_intercept=True, **options),
            ReferenceNORMA(K, budget, 0.3, 0.2, 0.2, 0.37, True),
        ),
        "norma, decay": lambda: (
            NORMA(
                budget, learning_rate=0.9, alpha=0.3, decay_learning_rate=True, fit_intercept=True, **options
            ),
            ReferenceNORMA(K, budget, 0.9, 0.3, fit_intercept=True, decay=True),
        ),
        "projectron": lambda: (
            Projectron(None, max_projection_error=0.3, **options),
            ReferenceProjectron(K, eta=0.3),
        ),
        "projectron, full": lambda: (
            Projectron(budget, max_projection_error=0.1, **options),
            ReferenceProjectron(K, budget, 0.1),
        ),
        "projectron++": lambda: (
            ProjectronPP(budget + 5, max_projection_error=0.3, **options),
            ReferenceProjectron(K, budget + 5, 0.3, plus=True),
        ),
    }
    return makers[name]()


PERCEPTRONS = ["perceptron", "vote", "mean", "worst", "worst, margin", "rbp", "forgetron"]
PROJECTRONS = ["projectron", "projectron, full", "projectron++"]
PASSIVE_AGGRESSIVE = ["pa", "pa, plain", "pa, squared"]
ONE_SET = [*PERCEPTRONS, *PASSIVE_AGGRESSIVE, "norma", "norma, nu", "norma, decay", *PROJECTRONS]
KOILS = [f"koil {name}" for name in ("rs++", "rs", "fifo++", "fifo")]
KOILS += [f"koil {policy}, {reading}" for policy in ("rs++", "fifo") for reading in READINGS if reading]
REPEATABLE = [name for name in (*ONE_SET, *KOILS) if name not in (*PASSIVE_AGGRESSIVE, *PROJECTRONS)]

# --- streams -----------------------------------------------------------------------------------------------


def at_length_1(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def repeats(n, seed, features=2):
    """A few rows again and again, each time with a label of its own."""
    rng = np.random.default_rng(seed)
    X, _ = clouds(max(2, n // 4), seed, features)
    return X[rng.integers(0, len(X), n)], np.where(rng.random(n) < 0.5, 1, -1)


def grid(n, seed, features=2):
    """Rows on a coarse grid, on which linear kernels are exact; many are the same."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, features)) / 2
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0, 1, -1)


SIZES = st.lists(st.integers(1, 40), min_size=2, max_size=6)


def blocks(n, sizes):
    """Slices of these sizes, again and again, that cover n rows."""
    stops = np.cumsum(np.resize(sizes, n))
    for start, stop in zip([0, *stops], stops, strict=False):
        yield slice(int(start), int(min(stop, n)))
        if stop >= n:
            return


def feed(native, X, y, classes=(-1, 1)):
    """One block; the classes are named once."""
    return native.partial_fit(X, y, None if hasattr(native, "n_iter_") else list(classes))


# --- comparisons -------------------------------------------------------------------------------------------


def kept_of(twin):
    """Row numbers and coefficients of a twin, in order of arrival."""
    sets = list(twin.kept.values()) if hasattr(twin, "kept") else [twin]
    born, a = (np.concatenate([getattr(rows, part) for rows in sets]) for part in ("born", "a"))
    order = np.argsort(born, kind="stable")
    return born[order] - 1, a[order]


def buffers(native):
    """Row numbers of what each binary problem keeps, in order of arrival, straight from the core."""
    state = native._machine.native.get_state()
    return np.split(state["buffers"], state["buffers_starts"][1:-1])


def kept_by_class(native):
    """How many rows of the class, and how many others, each binary problem keeps."""
    machine = native._machine.native
    label_of = dict(zip(machine.ids.tolist(), machine.labels.tolist(), strict=True))
    counts = []
    for column, ids in enumerate(buffers(native)):
        own = 1 if len(native.classes_) == 2 else column
        mine = sum(label_of[row] == own for row in ids.tolist())
        counts.append([mine, len(ids) - mine])
    return np.array(counts)


def raw_scores(native, X, column=0):
    """Scores of a binary problem, without the threshold that learners of AUC add to what they learned."""
    own = isinstance(native, (KOIL, OAM, OPAUC))
    scores = native.decision_function(X).reshape(len(X), -1)[:, column]
    return scores - native.intercept_[column] if own else scores


COUNTED = {  # what else a learner tells, and what its twin calls it
    "deviation_": "Q",
    "rho_": "rho",
    "n_projections_": "n_projections",
    "n_margin_steps_": "n_margin_steps",
}


def assert_agrees(native, twin, X, rtol=1e-5, column=0):
    """The same rows, mistakes and counts; coefficients and scores to single precision."""
    rows, a = kept_of(twin)
    np.testing.assert_array_equal(buffers(native)[column], rows)
    found = native.dual_coef_[column]
    np.testing.assert_array_equal(native.support_[found != 0], rows[a != 0])
    scale = max(1.0, np.abs(a).max(initial=0))
    np.testing.assert_allclose(found[found != 0], a[a != 0], rtol=rtol, atol=rtol * scale)
    f = twin.decide(X)
    scale = max(1.0, np.abs(f).max(initial=0))
    np.testing.assert_allclose(raw_scores(native, X, column), f, rtol=rtol, atol=rtol * scale)
    assert 0 <= twin.n_mistakes - native.n_mistakes_[column] <= getattr(twin, "n_canceled", 0)
    for ours, theirs in COUNTED.items():
        if hasattr(native, ours):
            expected = pytest.approx(getattr(twin, theirs), rel=rtol, abs=rtol)
            assert getattr(native, ours)[column] == expected, ours


POLICIES = ["rs++", "rs", "fifo++", "fifo"]
