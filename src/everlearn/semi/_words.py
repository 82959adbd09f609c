"""Words that the learners from labeled and unlabeled rows share in their docstrings."""

from typing import TypeVar

from .._base.docs import complete

Class = TypeVar("Class", bound=type)

_PARAMETERS = """
C : float, default=1.0
    Cost of a violated margin, for the SVM by which labels pull and for the rule. Beside clusters labels weigh
    what ``rho`` says.
rho : float or "auto", default="auto"
    How much the similarity of unlabeled rows to each other counts beside the pull of the labels: at 1 both
    pull as hard, at 0 unlabeled rows count nothing. Too large a one finds clusters and may mix up their
    names. "auto" is 1, 0.3, 0.1 or 0, whichever finds labels best that are hidden from it; 1 where a class
    has fewer than two.
label_scores : {"svm", "similarity"}, default="svm"
    How labels pull: by the scores of the SVM on labeled rows, 3,000 at most, which with few labels are the
    sums of similarities, or by these sums, as in the thesis.
kernel : {"auto", <kernels>, "precomputed"}, default="auto"
    The similarity of two rows. "auto" is "linear" from 50 features on, otherwise "rbf".
    <formulas>
gamma : {"median", "scale", "auto"} or float, default="median"
    Coefficient of <users of gamma>, for scaled rows.
    "median" is 1 / (2 m), where m is the median, over pairs of rows, of the distance in the exponent of the
    kernel; for kernels without one it is "scale", 1 / (n_features * X.var()). "auto" is 1 / n_features.
degree : int, default=3
    Degree of <users of degree>.
coef0 : float, default=0.0
    Constant of <users of coef0>.
scaling : {"auto", "standard", "unit", "none"}, default="auto"
    "standard" scales columns to mean 0 and standard deviation 1, "unit" scales rows to length 1. "auto" does
    both, with exceptions: columns of sparse rows stay as they are, because centering would fill them; so do
    the lengths of dense rows under kernels of differences of rows; and kernels that ignore the lengths of
    rows get them as they are. Learned from all rows of `fit`, and applied to the rows of `predict`.
positive_fraction : float or dict, default=None
    Share of ``classes_[1]`` among the unlabeled rows, or the share of each class by its label. None
    estimates it for two classes from the margins of labelings, at most 2,000 rows of each kind, within what
    labels leave possible if they are a random sample; for more it is that among the labels, shrunk toward
    equal shares.
balance_classes : "auto" or bool, default="auto"
    Whether classes pull as hard as each other however many labels they have. "auto": with more than two.
n_components : int, default=None
    Compare rows by that many features of a Nystroem approximation of the kernel, in time and memory that grow
    as the number of rows does.
unlabeled : label, default=None
    A value in y that means no label, such as the -1 of scikit-learn; None and NaN always mean that.
estimator : classifier, "auto" or None, default="auto"
    What learns the rule for new rows, on scaled rows. A given label has weight 1; found ones together weigh
    as much as given ones together, and none more than 1. "auto" is `LinearSVC` for linear kernels and else
    `LASVM`, where weights are then brought to a mean of 1; None: there is no rule.
n_jobs : int, default=None
    Threads for kernel values; None is one, -1 all. The result does not depend on it.
random_state : int, RandomState instance or None, default=None
    Decides samples, landmarks, and what the rule needs.
verbose : bool or int, default=False
    Whether to show progress.
"""

_ATTRIBUTES = """
classes_ : ndarray of shape (n_classes,)
    The labels.
transduction_ : ndarray of shape (n_samples,)
    A label for every row of `fit`; given ones are never changed.
supervised_transduction_ : ndarray of shape (n_samples,)
    The same by similarity to labeled rows alone, at the same shares: where it does not differ, the
    unlabeled rows have changed nothing.
scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
    How much the objective would rise if a row belonged a little more to the second class, or to each class;
    NaN for rows with a given label.
objective_ : float
    What was maximized: the pull of the labels less the similarities that are cut.
n_evaluations_ : int
    Gains that greedy has computed.
positive_fraction_ : float or dict
    The share of ``classes_[1]`` among the unlabeled rows that was given or estimated; with more than two
    classes the share of each.
rho_ : float
    The ``rho`` that was given or chosen.
fraction_reliable_ : bool
    Whether to rely on it: it was given, or the estimate stands out and leaves ten rows to each class. True
    has been wrong for shares below a fifth.
fraction_depth_ : float
    How far the squared norm of the SVM rises on both sides of the estimate; 0 where there was none to find
    and the labels' own share was taken, NaN where none was wanted.
estimator_ : classifier or None
    The rule for new rows.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, when X had names that are strings.
"""


def documented(cls: Class) -> Class:
    """Add the shared parameters and attributes to a docstring; use it as a decorator."""
    return complete(cls, _PARAMETERS, _ATTRIBUTES)
