"""What the shared parameters accept, by name: a constructor that has the name has the check."""

from collections.abc import Callable
from typing import Any, TypeAlias

from . import constraints
from .kernels import NAMES

KernelParameter: TypeAlias = str | Callable[..., Any]
ClassWeight: TypeAlias = dict[Any, float] | str | None
Table: TypeAlias = dict[str, constraints.Constraint]  # what the parameters of a class accept

SHARED: Table = {
    "C": constraints.POSITIVE,
    "kernel": constraints.one_of(*NAMES, "precomputed") | constraints.CALLABLE,
    "degree": constraints.integer_from(0),
    "gamma": constraints.one_of("scale", "auto") | constraints.POSITIVE,
    "coef0": constraints.FINITE,
    "tol": constraints.POSITIVE,
    "class_weight": constraints.NONE | constraints.one_of("balanced") | constraints.MAPPING,
    "epochs": constraints.integer_from(1),
    "finishing": constraints.NONE | constraints.one_of("kept"),
    "clean_every": constraints.integer_from(1),
    "s": constraints.RAMP_END,
    "min_support": constraints.integer_from(0),
    "budget": constraints.integer_from(1),
    "cache_size": constraints.MEGABYTES,
    "row_dtype": constraints.NONE | constraints.one_of("float32", "float16"),
    "n_jobs": constraints.NONE | constraints.NOT_ZERO_INTEGER,
    "verbose": constraints.BOOLEAN | constraints.integer_from(0),
}
