"""The form of a key, and what is stored of it."""

from __future__ import annotations

import hashlib
import math
import re

import pytest

from ragbase.services.keys_format import SECRET_LENGTH, hash_key, key_id_of, new_key


def test_a_key_has_a_public_id_and_more_than_256_secret_bits() -> None:
    keys = [new_key() for _ in range(200)]
    assert len({key.key_id for key in keys}) == len({key.text for key in keys}) == 200
    for key in keys:
        assert re.fullmatch(r"rb_[a-z0-9]{12}_[A-Za-z0-9]{43}", key.text)
        assert key_id_of(key.text) == key.key_id
    assert SECRET_LENGTH * math.log2(62) >= 256


def test_only_a_hash_is_stored_and_no_secret_shows() -> None:
    key = new_key()
    assert key.secret_hash == hash_key(key.text) == hashlib.sha256(key.text.encode()).digest()
    assert key.text not in repr(key)


@pytest.mark.parametrize(
    "change",
    [
        lambda key: key + "\n",
        lambda key: " " + key,
        lambda key: key.replace("rb_", "RB_"),
        lambda key: key[:-1],
        lambda key: key + "_",
        lambda key: key.replace("_", "-"),
        lambda key: key[:-1] + "\u0661",
        lambda key: key + "a" * 200,
        lambda key: "",
    ],
)
def test_what_does_not_look_like_a_key_has_no_id(change: object) -> None:
    assert callable(change)
    assert key_id_of(change(new_key().text)) is None
