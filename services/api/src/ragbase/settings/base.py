"""Where values come from, and the form of a setting; each section is a class over `Section`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from pydantic import AliasChoices
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

__all__ = ["MIB", "Section", "env", "read_json"]

MIB = 1024 * 1024


def env(*names: str) -> AliasChoices:
    """The names under which a setting is read; the first one is listed."""
    return AliasChoices(*names)


def read_json(value: object) -> object:
    """What a setting given as JSON text says; blank: ``{}``, anything but text: as it is.

    For fields marked `NoDecode`, so that a mistake is told in our words. Raises `ValueError`.
    """
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value) if value.strip() else {}
    except orjson.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error}") from None


class _EnvSource(EnvSettingsSource):
    """Reads a setting under its own names only.

    pydantic-settings would read the field's name too, so that every shell's ``HOME``, and many a
    platform's ``HOST`` and ``PORT``, would become ours.
    """

    def _extract_field_info(
        self, field: Any, field_name: str, *args: Any, **kwargs: Any
    ) -> list[tuple[str, str, bool]]:
        found = super()._extract_field_info(field, field_name, *args, **kwargs)
        return [info for info in found if info[0] != field_name]


class _FileSource(_EnvSource):
    """Reads ``<NAME>_FILE`` where ``<NAME>`` is unset: how Kubernetes and Docker mount secrets."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        for key, name, _ in self._extract_field_info(field, field_name):
            path = self.env_vars.get(f"{name.lower()}_file")
            if path:
                try:
                    return Path(path).read_text(encoding="utf-8").strip(), key, False
                except (OSError, UnicodeError) as error:
                    reason = error.strerror if isinstance(error, OSError) else "no UTF-8"
                    raise ValueError(f"{name.upper()}_FILE: cannot read {path}: {reason}") from None
        return None, field_name, False


class Section(BaseSettings):
    """Settings that belong together."""

    model_config = SettingsConfigDict(
        env_prefix="",
        extra="ignore",
        populate_by_name=True,
        frozen=True,
        hide_input_in_errors=True,  # it may hold keys
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, which wins over ``<NAME>_FILE``."""
        return init_settings, _EnvSource(settings_cls), _FileSource(settings_cls)
