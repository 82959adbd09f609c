"""These tests need a CUDA device: `make test-cuda` runs them, `make test` does not."""

import os

collect_ignore_glob = [] if os.environ.get("EVERLEARN_TEST_CUDA") else ["test_*.py"]
