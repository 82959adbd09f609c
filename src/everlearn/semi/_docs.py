"""Docstring entries that the semi-supervised learners share."""

from typing import TypeVar

from .._base.docs import complete

Class = TypeVar("Class", bound=type)

_PARAMETERS = """
C : float, default=1.0
    Regularization parameter of the SVM that scores rows by the labels, and of the classifier for new rows.
    ``rho`` weights the clusters against the labels.
rho : float or "auto", default="auto"
    Weight of the similarity of unlabeled rows to each other, relative to the scores from the labels: at 1
    both count the same, at 0 unlabeled rows have no influence. If it is too large, clusters are found but may
    get the wrong labels. "auto" is 1, 0.3, 0.1 or 0, whichever predicts held-out labels best; 1 if a class
    has fewer than two labels.
label_scores : {"svm", "similarity"}, default="svm"
    How labels score unlabeled rows. "svm": by an SVM trained on at most 3,000 labeled rows; with few labels
    this equals "similarity". "similarity": by sums of similarities to labeled rows, as in the thesis.
kernel : {"auto", <kernels>, "precomputed"}, default="auto"
    The similarity of two rows. "auto" is "linear" with 50 features or more, otherwise "rbf".
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
    "standard" scales features to mean 0 and standard deviation 1, "unit" scales rows to length 1. "auto" does
    both, with exceptions. Features of sparse rows are not standardized, because centering would make them
    dense. Lengths of dense rows stay under kernels of differences of rows. Rows stay unchanged under kernels
    that ignore lengths. Estimated from all rows of `fit`, and applied to the rows of `predict`.
positive_fraction : float or dict, default=None
    Fraction of ``classes_[1]`` among the unlabeled rows, or the fraction of each class by its label. None
    estimates it. For two classes the estimate comes from the margins of possible labelings (on at most 2,000
    labeled and 2,000 unlabeled rows), within what the labels allow if they are a random sample. For more
    classes it is the fraction among the labels, shrunk toward equal fractions.
balance_classes : "auto" or bool, default="auto"
    Whether all classes have the same influence regardless of their number of labels. "auto": if there are
    more than two classes.
n_components : int, default=None
    Number of features of a Nystroem approximation of the kernel. Time and memory then grow linearly with the
    number of rows. None uses the kernel itself.
unlabeled : label, default=None
    A value in y that means "no label", such as scikit-learn's -1. None and NaN always mean that.
estimator : classifier, "auto" or None, default="auto"
    The classifier for new rows, trained on scaled rows. A given label has weight 1; all found labels together
    weigh as much as all given ones, and none more than 1. "auto" is `LinearSVC` for linear kernels and
    otherwise `LASVM`, whose weights are rescaled to mean 1. None trains no classifier.
n_jobs : int, default=None
    Number of threads for kernel values; None means 1, -1 all processors. The result does not depend on it.
random_state : int, RandomState instance or None, default=None
    Determines samples, landmarks, and the random state of the classifier.
verbose : bool or int, default=False
    Whether to show progress.
"""

_ATTRIBUTES = """
classes_ : ndarray of shape (n_classes,)
    The class labels.
transduction_ : ndarray of shape (n_samples,)
    A label for every row of `fit`. Given labels are never changed.
supervised_transduction_ : ndarray of shape (n_samples,)
    The same by similarity to labeled rows alone, with the same class fractions. If it equals
    ``transduction_``, the unlabeled rows made no difference.
scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
    Derivative of the objective with respect to a row's membership in the second class, or in each class; NaN
    for rows with a given label.
objective_ : float
    The maximized objective: scores from the labels minus the similarities that are cut.
n_evaluations_ : int
    Number of gains that greedy has computed.
positive_fraction_ : float or dict
    The fraction of ``classes_[1]`` among the unlabeled rows, given or estimated; with more than two classes
    the fraction of each.
rho_ : float
    The value of ``rho``, given or chosen.
fraction_reliable_ : bool
    Whether ``positive_fraction_`` is reliable: it was given, or the estimate is distinct and leaves at least
    ten rows to each class. True has been wrong for fractions below 0.2.
fraction_depth_ : float
    By how much the squared norm of the SVM rises on both sides of the estimate. 0 if there was no minimum and
    the fraction among the labels was used, NaN if nothing was estimated.
estimator_ : classifier or None
    The classifier for new rows.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if X has names that are all strings.
"""


def documented(cls: Class) -> Class:
    """Decorator: add the shared parameters and attributes to a docstring."""
    return complete(cls, _PARAMETERS, _ATTRIBUTES)
