"""Leases: one person at a time, tokens, expiry by a clock that the test turns."""

import pytest

from everlearn.errors import InputError
from everlearn.serve._leases import Leases


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_row_is_leased_to_one_person_at_a_time(clock):
    leases = Leases(90, clock)
    lease = leases.claim("r", "ada")
    assert leases.claim("r", "bob") is None
    assert leases.claim("r", "ada") is None
    assert leases.holders("r") == ["ada"]
    assert leases.left(lease) == 90


def test_places_allow_several_people_but_nobody_twice(clock):
    leases = Leases(90, clock)
    assert leases.claim("r", "ada", places=2)
    assert leases.claim("r", "ada", places=2) is None
    assert leases.claim("r", "bob", places=2)
    assert leases.claim("r", "eve", places=2) is None


def test_a_lease_expires_and_the_row_is_free(clock):
    leases = Leases(90, clock)
    lease = leases.claim("r", "ada")
    clock.now += 89.9
    assert leases.claim("r", "bob") is None
    clock.now += 0.1
    assert leases.claim("r", "bob")
    assert leases.n_expired == 1
    assert leases.find(lease.id, lease.token) is None
    with pytest.raises(InputError) as caught:
        leases.renew(lease.id, lease.token)
    assert caught.value.code == "lease_gone"


def test_renewing_starts_the_time_again_and_keeps_the_order_of_expiry(clock):
    leases = Leases(90, clock)
    first, second = leases.claim("a", "ada"), leases.claim("b", "ada")
    clock.now += 60
    assert leases.left(leases.renew(first.id, first.token)) == 90
    clock.now += 31
    assert leases.holders("a") == ["ada"]
    assert leases.holders("b") == []
    assert leases.next_expiry() == 59
    assert not leases.release(second.id, second.token)


def test_only_the_token_of_the_claim_renews_and_releases(clock):
    leases = Leases(90, clock)
    lease = leases.claim("r", "ada")
    assert leases.find(lease.id, "guess") is None
    assert leases.find(None, None) is None
    assert not leases.release(lease.id, "é")
    with pytest.raises(InputError):
        leases.renew(lease.id, "guess")
    assert leases.release(lease.id, lease.token)
    assert leases.claim("r", "bob").token != lease.token


def test_near_duplicates_are_leased_together_unless_they_are_taken(clock):
    leases = Leases(90, clock)
    leases.claim("c", "bob")
    lease = leases.claim("a", "ada", others=["a", "b", "c"])
    assert lease.rows == ("a", "b")
    assert leases.claim("b", "bob") is None
    leases.end("b", "ada")
    assert leases.claim("a", "bob")
    assert len(leases) == 2


def test_an_integer_and_a_string_are_different_rows(clock):
    leases = Leases(90, clock)
    assert leases.claim(1, "ada")
    assert leases.claim("1", "bob")
