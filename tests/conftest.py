"""Set-up that must come before any test imports NumPy and SciPy."""

import os
import sys

from hypothesis import settings

from property_helpers import property_test

# With this scikit-learn's estimator checks also feed array-API input instead of skipping that check.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# The tests run in several processes and start many more: one thread of BLAS each, and modules compiled once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What a property test does not say is as in `property_test`.
settings.register_profile("everlearn", property_test(100))
settings.load_profile("everlearn")
