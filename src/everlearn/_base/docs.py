"""Shared docstrings: a class documents its own parameters, `complete` adds the common ones.

Docstrings do not list the kernels: `with_kernels` replaces ``<kernels>`` by their names, ``<formulas>`` by
their formulas, and ``<users of gamma>`` by the names of those that use a parameter.
"""

import inspect
import re
import textwrap
from typing import TypeVar

from .kernels import KERNELS, NAMES, users_of

Class = TypeVar("Class", bound=type)

PARAMETERS = """
C : float, default=1.0
    Regularization parameter: cost of a margin violation. Smaller values regularize more.
kernel : {<kernels>, "precomputed"} or callable, default="rbf"
    The kernel.
    <formulas>
    A callable ``kernel(X, Y)`` returns the matrix of values. A callable and "precomputed" are slower, and
    keep the kernel matrix of the kept rows in memory; ``cache_size`` does not apply.
degree : int, default=3
    Degree of <users of degree>.
gamma : {"scale", "auto"} or float, default="scale"
    Coefficient of <users of gamma>.
    "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features; `partial_fit` computes it from its first
    block and keeps it.
coef0 : float, default=0.0
    Constant of <users of coef0>.
tol : float, default=1e-3
    Optimality tolerance: the largest accepted violation of the optimality conditions.
class_weight : dict or "balanced", default=None
    Multiplies C for the rows of a class. "balanced" is ``n / (k * n_c)`` for a class with n_c of the n rows
    seen so far and k classes among them. `fit` counts all its rows; `partial_fit` continues counting, and
    weights the rows of a call by the counts that include them. The weight of a row does not change later.
    Rows with a sample weight of 0 are not counted, and forgetting a row does not change the counts.
epochs : int, default=1
    Passes over the rows in `fit`, each in a new random order.
finishing : {"kept"} or None, default=None
    How `fit` ends: "kept" is `finish`, None ends with the last row.
clean_every : int, default=300
    Number of rows between two cleanings, which drop rows that are not support vectors.
max_idle : int, default=100
    Number of rows that are not support vectors and that a cleaning keeps: those nearest to becoming support
    vectors. `fit` ends with a cleaning that keeps none.
s : float, default=-1.0
    Where the ramp loss becomes constant, 0 or below. A row with y f(x) < s has the same loss as one at s and
    no influence on the model. -inf is the hinge loss, under which every row has influence.
cache_size : float, default=200
    Size of the kernel cache in megabytes.
row_dtype : {"float32", "float16"} or None, default=None
    Type in which rows are stored; None is the type of the first rows. "float16" takes half the memory of
    float32, for dense rows such as embeddings. Values keep 11 significant bits, about three decimal digits.
    Each row is rounded once, also a row to predict, and kernel values are computed from rounded rows in
    single precision. Values must be below 65504; features far below 1 need scaling. Rows that are mostly
    zeros are stored sparse, rounded in the same way but not smaller. Needs a built-in kernel.
budget : int, default=200
    Maximum number of rows kept, for each binary problem.
n_jobs : int, default=None
    Number of threads; None means 1, -1 all processors. Threads share the work on kernel blocks, on rows to
    predict and, with several classes, on classes: it hardly pays for single rows. The result does not depend
    on it.
random_state : int, RandomState instance or None, default=None
    Determines the order of the rows in `fit`.
verbose : bool or int, default=False
    Whether to show progress.
"""

# Those that a class does not have are left out.
ATTRIBUTES = """
classes_ : ndarray of shape (n_classes,)
    The class labels.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if X has names that are all strings.
support_ : ndarray of shape (n_SV,)
    Row numbers of the support vectors.
support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
    The support vectors.
dual_coef_ : ndarray of shape (1, n_SV) or (n_classes, n_SV)
    Signed coefficients of the support vectors.
intercept_ : ndarray of shape (1,) or (n_classes,)
    The biases; 0 for learners without a bias.
gamma_ : float
    The value of gamma, also where "scale" or "auto" chose it.
n_support_ : ndarray of shape (n_classes,)
    Number of support vectors of each class.
n_kept_ : int
    Number of rows kept: support vectors, and rows that may still become support vectors.
n_kernel_evaluations_ : int
    Number of kernel values computed.
coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    Weights of the features. Learners with a kernel have them with the linear kernel only.
n_iter_ : int
    Number of rows processed.
n_mistakes_ : ndarray of shape (1,) or (n_classes,)
    Rows that were misclassified when they came.
duality_gap_ : ndarray of shape (1,) or (n_classes,)
    Primal minus dual objective on the rows kept, one for each binary problem.
"""


def _entries(text: str) -> dict[str, str]:
    """The entries of a section by their names."""
    parts = re.split(r"^(?=\w+ : )", text.strip("\n"), flags=re.MULTILINE)
    return {part.split(" :", 1)[0]: part.rstrip("\n") for part in parts if part.strip()}


def _section(text: str, title: str) -> tuple[str, dict[str, str], str]:
    """What comes before a section, its entries, and what comes after it."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\w[^\n]*\n---|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    if found:
        return text[: found.start()].rstrip("\n"), _entries(found[1]), text[found.end() :].strip("\n")
    later = re.search(r"^(Attributes|Examples)\n---", text, flags=re.MULTILINE)
    place = later.start() if later else len(text)
    return text[:place].rstrip("\n"), {}, text[place:].strip("\n")


def with_kernels(cls: Class) -> Class:
    """Decorator: fill in the kernels in the docstring of a class."""
    if cls.__doc__ is not None:
        cls.__doc__ = _filled_in(cls.__doc__)
    return cls


def _filled_in(text: str) -> str:
    formulas = "; ".join(f'"{kernel.name}": {kernel.formula}' for kernel in KERNELS.values()) + "."

    def formulas_at(found: re.Match[str]) -> str:
        return textwrap.fill(formulas, 110, initial_indent=found[1], subsequent_indent=found[1])

    text = re.sub("^( *)<formulas>", formulas_at, text, flags=re.MULTILINE)
    text = text.replace("<kernels>", ", ".join(f'"{name}"' for name in NAMES))
    return re.sub(r"<users of (\w+)>", lambda found: users_of(found[1]), text)


def complete(cls: Class, parameters: str = PARAMETERS, attributes: str = ATTRIBUTES) -> Class:
    """Decorator: add the shared parameters and attributes to the docstring of a learner.

    Entries of the class itself take precedence. Parameters are in the order of the signature.
    """
    if cls.__doc__ is None:  # python -OO
        return cls
    before, own, after = _section(inspect.cleandoc(cls.__doc__), "Parameters")
    known = _entries(parameters) | own
    names = list(inspect.signature(cls).parameters)
    documented = "\n".join(known[name] for name in names)
    summary, its_own, rest = _section(after, "Attributes")
    own_text = attributes is not ATTRIBUTES
    always = {"classes_", "n_features_in_", "feature_names_in_"}
    known = {
        name: text
        for name, text in _entries(attributes).items()
        if own_text or name in always or hasattr(cls, name)
    }
    shared = "\n".join((known | its_own).values())
    text = "\n\n".join(
        part
        for part in (
            before,
            f"Parameters\n----------\n{documented}",
            summary,
            f"Attributes\n----------\n{shared}",
            rest,
        )
        if part
    )
    cls.__doc__ = _filled_in(text)
    return cls
