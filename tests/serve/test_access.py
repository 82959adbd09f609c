"""Tokens, sessions and one-time links: only hashes are stored, and every door has its key."""

import json

import pytest

from everlearn.errors import InputError
from everlearn.serve.access import Access, Person


class Notes(dict):
    def set(self, changes):
        for key, value in changes.items():
            if value is None:
                self.pop(key, None)
            else:
                self[key] = json.loads(json.dumps(value))


@pytest.fixture
def notes():
    return Notes()


def opened(notes, **options):
    return Access(lambda: dict(notes), notes.set, **options)


def test_a_token_identifies_and_is_not_stored(notes):
    access = opened(notes)
    token = access.create_token("Ada", "annotator")
    assert access.person(token) == Person("Ada", "annotator")
    assert opened(notes).person(token) == Person("Ada", "annotator")
    secret = token.split("_", 2)[2]
    assert len(secret) >= 43  # 256 bits
    assert secret not in json.dumps(notes)


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + "x", lambda t: t[:-1] + "!", str.upper])
def test_a_changed_token_is_unknown(notes, change):
    access = opened(notes)
    assert access.person(change(access.create_token("Ada", "viewer"))) is None


@pytest.mark.parametrize("token", ["", "el__", "el_000000000000_x", "\ud800", "é" * 40, "a_b_c"])
def test_other_tokens_are_unknown(notes, token):
    assert opened(notes).person(token) is None


def test_people_are_listed_with_what_they_have(notes):
    now = [0.0]
    access = opened(notes, clock=lambda: now[0])
    access.start_token()
    access.create_token("crm", "producer")
    used, left = access.create_link("Ada", "annotator"), access.create_link("Ada", "annotator")
    access.join(used)
    session = access.create_session(Person("Bo", "viewer"))
    assert access.person(session) == Person("Bo", "viewer")
    assert access.people() == [
        {"name": "Ada", "role": "annotator", "sessions": 1, "tokens": 0, "links": 1},
        {"name": "Bo", "role": "viewer", "sessions": 1, "tokens": 0, "links": 0},
        {"name": "crm", "role": "producer", "sessions": 0, "tokens": 1, "links": 0},
    ]
    now[0] += 8 * 24 * 3600
    assert access.people()[0]["links"] == 0
    with pytest.raises(InputError):
        access.join(left)
    access.end_session(session)
    assert [person["name"] for person in access.people()] == ["Ada", "crm"]


@pytest.mark.parametrize("way", ["token", "link", "both"])
def test_one_person_cannot_take_all_entries(notes, way):
    access = opened(notes)
    access.create_token("Ada", "annotator")
    other = access.create_session(Person("Bo", "viewer"))
    made = []
    for number in range(60):
        if way == "link" or (way == "both" and number % 2):
            made.append(access.join(access.create_link("Ada", "annotator"))[1])
        else:
            made.append(access.create_session(Person("Ada", "annotator")))
    assert [access.person(session) is not None for session in made] == [False] * 10 + [True] * 50
    assert access.person(other) is not None
    assert access.people()[0] == {"name": "Ada", "role": "annotator", "sessions": 50, "tokens": 1, "links": 0}
    assert len([key for key in notes if key.startswith("access/")]) == 52


def test_the_oldest_session_ends_in_whatever_order_a_store_returns_them(notes):
    now = [1000.0]
    access = opened(notes, clock=lambda: now[0])
    made = []
    for now[0] in range(1000, 1050):
        made.append(access.create_session(Person("Ada", "annotator")))
    turned = dict(reversed(notes.items()))
    again = Access(lambda: turned, notes.set, clock=lambda: 2000.0)
    again.create_link("Ada", "annotator")
    made.append(again.create_session(Person("Ada", "annotator")))
    made.append(again.join(again.create_link("Ada", "annotator"))[1])
    assert [again.person(session) is not None for session in made] == [False] * 2 + [True] * 50


def test_a_link_opens_once(notes):
    access = opened(notes)
    code = access.create_link("Ada", "annotator")
    assert access.person(code) is None, "a link is no token"
    person, session = access.join(code)
    assert person == Person("Ada", "annotator") == opened(notes).person(session)
    for again in (access, opened(notes)):
        with pytest.raises(InputError, match="has been used") as caught:
            again.join(code)
        assert caught.value.code == "link_used"
    with pytest.raises(InputError):
        access.join(session)


def test_a_link_expires(notes):
    now = 1000.0
    access = opened(notes, clock=lambda: now)
    code = access.create_link("Ada", "annotator")
    now += 8 * 24 * 3600
    with pytest.raises(InputError):
        access.join(code)
    access.create_link("Bob", "annotator")  # sweeps
    assert len([key for key in notes if key.startswith("access/")]) == 1


def test_the_token_of_a_start_replaces_that_of_the_last(notes):
    first = opened(notes).start_token()
    access = opened(notes)
    kept = access.create_token("Ada", "viewer")
    second = access.start_token()
    assert access.person(first) is None
    assert access.person(second) == Person("admin", "admin")
    assert access.person(kept) is not None
    chosen = "0123456789abcdef0123456789abcdef"
    assert access.person(access.start_token(chosen)) == Person("admin", "admin")
    assert opened(notes).person(chosen) == Person("admin", "admin")
    assert access.person(second) is None


@pytest.mark.parametrize("token", ["short", "x" * 31, " " * 40, "é" * 40])
def test_a_weak_token_is_refused(notes, token):
    with pytest.raises(InputError, match="32 printable"):
        opened(notes).start_token(token)


def test_revoking_closes_all_doors_of_a_person(notes):
    access = opened(notes)
    token = access.create_token("Ada", "annotator")
    _, session = access.join(access.create_link("Ada", "annotator"))
    code = access.create_link("Ada", "annotator")
    other = access.create_token("Bob", "annotator")
    assert access.revoke("Ada") == 3
    assert access.person(token) is access.person(session) is None
    with pytest.raises(InputError):
        access.join(code)
    assert access.person(other) is not None
    assert opened(notes).person(token) is None


def test_leaving_ends_one_session(notes):
    access = opened(notes)
    token = access.create_token("Ada", "annotator")
    _, session = access.join(access.create_link("Ada", "annotator"))
    access.end_session(session)
    access.end_session(token)  # no session: stays
    assert access.person(session) is None
    assert access.person(token) is not None


@pytest.mark.parametrize(
    ("name", "role", "parameter"),
    [
        ("Ada", "root", "role"),
        ("", "admin", "name"),
        ("a\nb", "admin", "name"),
        ("x" * 101, "admin", "name"),
        ("\u202e", "viewer", "name"),
    ],
)
def test_bad_names_and_roles(notes, name, role, parameter):
    with pytest.raises(InputError) as caught:
        opened(notes).create_token(name, role)
    assert caught.value.parameter == parameter
    assert not [key for key in notes if key.startswith("access/")]


def test_services_have_cookies_of_their_own(notes):
    assert opened(notes).cookie == opened(notes).cookie
    assert opened(notes).cookie != opened(Notes()).cookie
