"""Tombstones: an id can be recognized by whoever knows it, and by nobody else."""

import json

from everlearn.store.lookup import id_key
from everlearn.store.tombstones import STONE, digest, new_salt, tombstone

IDS = [1, "1", "", '{"erased', "é\0\ud800", 10**30, -5]


def test_different_ids_have_different_digests():
    salt = new_salt()
    assert len({digest(id_key(given), salt) for given in IDS}) == len(IDS)
    assert digest(id_key(1), salt) == digest(id_key(1), salt)


def test_the_salt_decides():
    salts = [new_salt() for _ in range(20)]
    assert len(set(salts)) == 20
    assert all(len(bytes.fromhex(salt)) == 16 for salt in salts)
    assert len({digest("1", salt) for salt in salts}) == 20


def test_a_tombstone_is_no_key_of_any_id():
    salt = new_salt()
    for given in IDS:
        assert tombstone(id_key(given), salt).startswith(STONE)
        assert not id_key(given).startswith(STONE)
    assert json.loads(tombstone("1", salt)) == {"erased": digest("1", salt)}
