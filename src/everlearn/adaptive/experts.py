"""Expert: the description of one member of an `AdaptiveSVM`."""

from dataclasses import dataclass, replace
from typing import Any

from sklearn import base

from .._base import constraints
from .._base.docs import with_kernels
from .._base.kernels import KERNELS

NO_CHANGE = "no-change"
# An expert has a gamma, but no other parameter of a kernel.
_NAMES = tuple(kernel.name for kernel in KERNELS.values() if set(kernel.uses) <= {"gamma"})
_KERNELS = constraints.one_of(*_NAMES, NO_CHANGE)
_WINDOW = constraints.NONE | constraints.integer_from(2)


@with_kernels
@dataclass(frozen=True)
class Expert:
    """One member of an `AdaptiveSVM`: a kernel, its parameters, and the length of its memory.

    Attributes
    ----------
    kernel : str, default="rbf"
        The kernel of an SVM: one of <kernels> that has no parameter but gamma. "no-change" is a baseline
        instead of an SVM: it predicts the classes of the most recent labels.
    C : float, default=10.0
        Regularization, relative to the scale of the rows: it is divided by the mean of K(x, x), which is 1
        for kernels such as "rbf".
    gamma : float, default=1.0
        Kernel coefficient, if the kernel has one, as a multiple of ``gamma="scale"``.
    window : int, default=None
        Number of most recent labeled rows it learns from; None means all stored rows.
    relevance : bool, default=False
        Whether an SVM on dense rows weights features by their relevance for the classes. It helps if many
        features are irrelevant.
    estimator : classifier, default=None
        A scikit-learn or River classifier that replaces the SVM. It is retrained on its window whenever a
        tenth of it has changed. If it fails, it abstains with a warning.
    name : str
        A short description.

    Examples
    --------
    >>> from everlearn.adaptive import Expert
    >>> Expert("linear", C=1.0, window=100).name
    'linear C=1 last 100'
    """

    kernel: str = "rbf"
    C: float = 10.0
    gamma: float = 1.0
    window: int | None = None
    relevance: bool = False
    estimator: Any = None

    @property
    def name(self) -> str:
        """A short description."""
        if self.estimator is not None:
            what = type(self.estimator).__name__
        elif self.kernel == NO_CHANGE:
            return NO_CHANGE
        else:
            what = f"{self.kernel} C={self.C:g}"
            what += (
                f" gamma={self.gamma:g}*scale"
                if self.kernel in KERNELS and "gamma" in KERNELS[self.kernel].uses
                else ""
            )
            what += " by relevance" if self.relevance else ""
        return what if self.window is None else f"{what} last {self.window}"

    def check(self) -> None:
        """Raise a ValueError or TypeError for an invalid parameter."""
        for name, constraint in (
            ("kernel", _KERNELS),
            ("C", constraints.POSITIVE),
            ("gamma", constraints.POSITIVE),
            ("window", _WINDOW),
            ("relevance", constraints.BOOLEAN),
        ):
            if not constraint.test(getattr(self, name)):
                raise ValueError(
                    f"{name} of an Expert must be {constraint.accepts}, got {getattr(self, name)!r}."
                )
        if self.estimator is not None and not is_classifier(self.estimator):
            raise TypeError(
                "estimator of an Expert must be a scikit-learn or River classifier (an instance), got "
                f"{self.estimator!r}."
            )


def is_classifier(model: Any) -> bool:
    """Whether an object is a classifier with the interface of scikit-learn or River."""
    if isinstance(model, type):
        return False
    if hasattr(model, "learn_one"):
        return hasattr(model, "predict_proba_one")
    if isinstance(model, base.BaseEstimator):
        return hasattr(model, "fit") and bool(base.is_classifier(model))
    return hasattr(model, "fit") and hasattr(model, "predict")


SHORT, MEDIUM = 25, 100  # window sizes in labels; short windows adapt to concept drift even with few labels

DEFAULT = (
    Expert("linear"),
    Expert("rbf"),
    Expert("rbf", gamma=3.0),
    Expert("rbf", gamma=2.0, relevance=True),
    Expert("linear", window=SHORT),
    Expert("rbf", window=SHORT),
    Expert("linear", window=MEDIUM),
    Expert("rbf", gamma=2.0, window=MEDIUM, relevance=True),
    Expert(NO_CHANGE),
)

# For rows of length 1, such as embeddings: the linear experts compare angles, also of rows that are not.
UNIT_LENGTH = tuple(
    replace(expert, kernel="cosine") if expert.kernel == "linear" else expert for expert in DEFAULT
)

# The candidates of `fit`.
GRID = (
    *(Expert("linear", C=C) for C in (1.0, 10.0, 100.0)),
    *(Expert("rbf", C=C, gamma=gamma) for gamma in (0.1, 0.3, 1.0, 3.0, 10.0) for C in (1.0, 10.0, 100.0)),
    *(Expert("rbf", C=C, gamma=2.0, relevance=True) for C in (10.0, 100.0)),
)


def resolve(given: Any) -> tuple[Expert, ...]:
    """The checked experts of the parameter ``experts``."""
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"experts must be 'auto' or a list of Expert, got {given!r}.")
        return DEFAULT
    if not isinstance(given, list | tuple):
        raise TypeError(f"experts must be 'auto' or a list of Expert, got {given!r}.")
    found: list[Expert] = []
    for item in given:
        if isinstance(item, str) and item == "auto":
            found += DEFAULT
        else:
            found.append(item if isinstance(item, Expert) else Expert(estimator=item))
    if not found:
        raise ValueError("experts must have at least one Expert, got an empty list.")
    for expert in found:
        expert.check()
    return tuple(found)
