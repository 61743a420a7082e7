"""What an API key looks like: ``rb_<id>_<secret>``.

The id is public: it names the key in lists and logs. The secret has more than 256 random bits, so
a plain SHA-256 of the key is as good at rest as a slow hash: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from dataclasses import dataclass, field

__all__ = ["KEY_ID", "NewKey", "hash_key", "key_id_of", "new_key"]

ID_LENGTH = 12
SECRET_LENGTH = 43
"""Of 62 signs: 256.03 bits."""
KEY_ID = "[a-z0-9]{8,32}"
"""Ours have 12; a pattern for the whole id, as the schema checks it."""
_KEY = re.compile(rf"rb_({KEY_ID})_[A-Za-z0-9-]{{{SECRET_LENGTH},128}}")
_ID_SIGNS = string.ascii_lowercase + string.digits
_SECRET_SIGNS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made; ``text`` is what its bearer sends."""

    key_id: str
    text: str = field(repr=False)

    @property
    def secret_hash(self) -> bytes:
        """What is stored."""
        return hash_key(self.text)


def new_key() -> NewKey:
    """A random key that nobody has."""
    key_id = _random(_ID_SIGNS, ID_LENGTH)
    return NewKey(key_id, f"rb_{key_id}_{_random(_SECRET_SIGNS, SECRET_LENGTH)}")


def key_id_of(key: str) -> str | None:
    """The id in a well-formed key, else None."""
    found = _KEY.fullmatch(key)
    return None if found is None else found[1]


def hash_key(key: str) -> bytes:
    """32 bytes, over id and secret together: a hash moved to another row is worth nothing."""
    return hashlib.sha256(key.encode()).digest()


def _random(signs: str, length: int) -> str:
    return "".join(secrets.choice(signs) for _ in range(length))
