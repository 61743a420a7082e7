"""Where settings come from besides flags: the environment, and files named by it."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

from pydantic_settings import EnvSettingsSource

__all__ = ["EnvSource", "FileSource", "is_address"]


def is_address(value: str) -> bool:
    """Whether a server can listen on it; other names than localhost are not looked up."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return value == "localhost"
    return True


class EnvSource(EnvSettingsSource):
    """Reads a setting under its own name only: pydantic-settings would read the field's, too."""

    def _extract_field_info(
        self, field: Any, field_name: str, *args: Any, **kwargs: Any
    ) -> list[tuple[str, str, bool]]:
        found = super()._extract_field_info(field, field_name, *args, **kwargs)
        return [info for info in found if info[0] != field_name]

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        value, key, is_complex = super().get_field_value(field, field_name)
        if field_name == "hostname" and value is not None and not is_address(value):
            value = None  # a container's name
        return value, key, is_complex


class FileSource(EnvSource):
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
