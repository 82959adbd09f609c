"""Promises that every estimator makes, checked for whatever the package exports."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import everlearn
from contract.contract_helpers import ESTIMATORS

_ONE_PASS = (
    "a one-pass learner depends on the order of rows, and a repeated row is not a row of double weight"
)


_TOLERANCE = "the optimum is found to tol, and the check compares to 1e-7"


def expected_failures(estimator):
    reason = _ONE_PASS if hasattr(estimator, "partial_fit") else _TOLERANCE
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks([cls() for cls in ESTIMATORS], expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_estimators_are_enumerated():
    assert everlearn.LASVM in ESTIMATORS
