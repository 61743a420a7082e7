"""Keys that the settings give: known from the start, in memory only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from ragbase.errors import ConfigurationError
from ragbase.models.access import Scope
from ragbase.models.keys import ApiKey
from ragbase.services.keys_format import hash_key, key_id_of
from ragbase.settings import Settings

__all__ = ["given_keys"]


def given_keys(settings: Settings) -> Mapping[str, ApiKey]:
    """The keys of the settings by id. Raises `ConfigurationError` for one of the wrong form."""
    roles: list[tuple[str, str, tuple[Scope, ...]]] = [
        ("RAGBASE_ADMIN_KEY", settings.admin_key.get_secret_value(), ("admin",)),
        ("RAGBASE_PROBE_KEY", settings.probe_key.get_secret_value(), ("read",)),
        ("RAGBASE_CLIENT_KEY", settings.client_key.get_secret_value(), ("read", "write")),
    ]
    keys: dict[str, ApiKey] = {}
    for name, text, scopes in roles:
        if not text:
            continue
        key = _given(name, text, scopes)
        other = keys.setdefault(key.key_id, key)
        if other is not key:
            raise ConfigurationError(
                f"{other.name} and {name} have the same id. Make a key for each: "
                "`ragbase keys generate`."
            )
    return keys


def _given(name: str, text: str, scopes: tuple[Scope, ...]) -> ApiKey:
    key_id = key_id_of(text)
    if key_id is None:
        raise ConfigurationError(
            f"{name} is no key: it must look like rb_<id>_<secret>. Make one with "
            "`ragbase keys generate`."
        )
    return ApiKey(
        key_id=key_id,
        name=name,
        secret_hash=hash_key(text),
        scopes=scopes,
        collections=None,
        created_at=datetime.now(UTC),
    )
