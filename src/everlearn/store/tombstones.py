"""Tombstones: a salted hash of the id of an erased row, to recognize it if it arrives again."""

import hashlib
import json
import secrets

SALT = "salt"  # the meta entry with the salt
STONE = '{"erased'  # the prefix of tombstones; no id key starts with it


def new_salt() -> str:
    """A random salt."""
    return secrets.token_hex(16)


def digest(key: str, salt: str) -> str:
    """The salted hash of an id key."""
    data = key.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, key=bytes.fromhex(salt), digest_size=16).hexdigest()


def tombstone(key: str, salt: str) -> str:
    """The index entry that replaces the key of an erased id."""
    return json.dumps({"erased": digest(key, salt)})
