"""Set-up that must come before any test imports SciPy."""

import os

# With this scikit-learn's estimator checks also feed array-API input instead of skipping that check.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
