"""Addresses that `reconcile` cannot use; what it does with others is in test_label_studio.py."""

import pytest

from everlearn.errors import StoreError
from everlearn.serve.reconcile import reconcile


@pytest.mark.parametrize("which", [0, 2], ids=["service", "Label Studio"])
def test_addresses_that_do_not_answer(which):
    given = ["http://127.0.0.1:9", "t", "http://127.0.0.1:9", "key", 4]
    with pytest.raises(StoreError, match="does not answer"):
        reconcile(*given)
    given[which] = "file:///etc/passwd"
    with pytest.raises((ValueError, StoreError), match="http"):
        reconcile(*given)
