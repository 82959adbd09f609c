"""Rows of breast cancer, and an exact SVM of the first 120."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from svm.idsvm_native_helpers import first_rows


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == 1, 1, -1)


@pytest.fixture(scope="module")
def first_120(wdbc):
    return first_rows(wdbc, 120)
