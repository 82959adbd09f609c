"""Certificate: written and read as it is, without an id in plain text."""

import json

import pytest

from everlearn.store import Certificate
from everlearn.store.lookup import id_key
from everlearn.store.tombstones import digest, new_salt
from stream.erase_helpers import PERSON, SECRETS, in_files, name, run
from stream.stream_helpers import opened


def test_a_certificate_is_written_and_read(tmp_path):
    with run(opened(tmp_path / "store"), n=60) as learner:
        certificate = learner.erase([PERSON], by="an officer \udcff")
    certificate.write(tmp_path / "certificate.json")
    found = Certificate.from_dict(json.loads((tmp_path / "certificate.json").read_text()))
    assert found == certificate
    assert found.covers(PERSON)
    assert not found.covers(name(1))
    assert in_files(tmp_path, *SECRETS) == []


def certificate(**values):
    salt = new_salt()
    hashes = [digest(id_key(row_id), salt) for row_id in (7, "person")]
    numbers = dict.fromkeys(("rows", "labels", "questions", "categories"), 1)
    numbers |= dict.fromkeys(("quarantined", "events", "snapshots"), 0)
    usual = {"store": "s", "time": "t", "by": "me", "everlearn_version": "1", "method": "replay"}
    return Certificate(
        **usual | numbers | {"model_difference": {"bit_equal": True}, "scrubbed": True} | values,
        salt=salt,
        id_hashes=hashes,
    )


def test_it_covers_the_ids_that_were_erased_and_tells_integers_from_strings():
    found = certificate()
    assert found.covers(7)
    assert found.covers("person")
    assert not found.covers("7")
    assert not found.covers("Person")
    with pytest.raises(TypeError, match="ids must be integers or strings"):
        found.covers(7.0)


def test_it_is_plain_values_without_ids():
    found = certificate(notes=["a note"])
    values = json.loads(json.dumps(found.to_dict()))
    assert Certificate.from_dict(values) == found
    assert "person" not in json.dumps(values)


def test_a_written_certificate_replaces_an_older_one(tmp_path):
    certificate(by="first" * 1000).write(tmp_path / "c.json")
    last = certificate(by="last")
    last.write(tmp_path / "c.json")
    assert Certificate.from_dict(json.loads((tmp_path / "c.json").read_text())) == last
