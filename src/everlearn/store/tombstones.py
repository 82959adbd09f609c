"""Tombstones: what is left of the id of an erased row, a salted hash that tells if it comes again."""

import hashlib
import json
import secrets

SALT = "salt"  # under this name a log keeps its salt
STONE = '{"erased'  # how tombstones begin, and no id


def new_salt() -> str:
    """A salt, drawn at random."""
    return secrets.token_hex(16)


def digest(key: str, salt: str) -> str:
    """The salted hash of an id, which is given as it stands in the log."""
    data = key.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, key=bytes.fromhex(salt), digest_size=16).hexdigest()


def tombstone(key: str, salt: str) -> str:
    """What stands in the log instead of an id; no id is written like that."""
    return json.dumps({"erased": digest(key, salt)})
