"""Addresses: what they mean, what is wrong with them, and that nothing secret of them is shown."""

import pytest

from everlearn.broker import Address, is_broker
from everlearn.errors import InputError


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("kafka://localhost/rows", "kafka://localhost:9092/rows"),
        ("kafka://a:1,b:2/rows.v1", "kafka://a:1,b:2/rows.v1"),
        ("REDIS://localhost/rows", "redis://localhost:6379/rows"),
        ("rediss://u:p@[::1]:7000/rows?db=3", "rediss://[::1]:7000/rows?db=3"),
        ("redis://:p%40ss@h/a%20b?db=0", "redis://h:6379/a b"),
    ],
)
def test_the_name_is_the_address_without_secrets(url, name):
    found = Address.parse(url)
    assert found.name == name
    assert str(name).count("@") == 0
    assert "p%40ss" not in repr(found)
    assert "p@ss" not in repr(found)


def test_login_and_options_are_read():
    found = Address.parse("kafka://me:s%2Fecret@h:1/t?sasl.mechanism=SCRAM-SHA-256&ssl.key.password=hidden")
    assert (found.user, found.password) == ("me", "s/ecret")
    assert found.options == {"sasl.mechanism": "SCRAM-SHA-256", "ssl.key.password": "hidden"}
    assert "hidden" not in repr(found) + found.name


def test_the_password_may_be_in_the_environment(monkeypatch):
    monkeypatch.setenv("EVERLEARN_BROKER_PASSWORD", "from outside")
    assert Address.parse("redis://me@h/s").password == "from outside"
    assert Address.parse("redis://me:own@h/s").password == "own"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("kafka://user:geheim@host:9092", "must name one topic"),
        ("kafka://user:geheim@host/a/b", "must name one topic"),
        ("redis://user:geheim@host:99999/a", "no valid host and port"),
        ("redis://user:geheim@/a", "no valid host and port"),
        ("redis://user:geheim@a,b/s", "several hosts are for Kafka only"),
        ("redis://user:geheim@h/s?password=geheim", "unknown option 'password'"),
        ("redis://user:geheim@h/s?db=geheim", "must be a number"),
        ("http://user:geheim@h/s", "starts with kafka://"),
    ],
)
def test_a_wrong_address_is_refused_without_its_password(url, message):
    with pytest.raises(InputError, match=message) as caught:
        Address.parse(url)
    assert "geheim" not in str(caught.value)


def test_brokers_are_told_from_files():
    assert [is_broker(path) for path in ("kafka://h/t", "redis://h/s", "rediss://h/s")] == [True] * 3
    assert [is_broker(path) for path in ("kafka", "data.csv", "http://h/t", "postgresql://h/d")] == [
        False
    ] * 4
