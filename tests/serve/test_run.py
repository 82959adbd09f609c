"""The socket of a service; the service as a process is in test_process.py."""

import pytest

from everlearn.errors import StoreError
from everlearn.serve.run import bind


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_port_0_is_a_free_port(host):
    with bind(host, 0) as one, bind(host, 0) as other:
        assert 0 < one.getsockname()[1] != other.getsockname()[1] > 0


def test_a_port_in_use_is_refused():
    with bind("127.0.0.1", 0) as one:
        one.listen()
        port = one.getsockname()[1]
        with pytest.raises(StoreError, match=f"Port {port} of 127.0.0.1 is in use") as caught:
            bind("127.0.0.1", port)
    assert caught.value.code == "port_in_use"
