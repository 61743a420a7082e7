"""The list of all settings, read off the class that defines them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import AliasChoices, SecretStr

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["Setting", "as_env", "as_json", "as_markdown", "catalogue"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting; ``default`` is as one would write it in the environment, empty for unset."""

    name: str
    default: str
    meaning: str
    secret: bool
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


def catalogue() -> list[Setting]:
    """All settings, in the order in which they are defined."""
    from ragbase.settings import Settings

    return [_setting(name, field) for name, field in Settings.model_fields.items()]


def as_json(settings: Iterable[Setting]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "name": setting.name,
            "default": setting.default,
            "meaning": setting.meaning,
            "secret": setting.secret,
            "aliases": list(setting.aliases),
            "choices": list(setting.choices),
        }
        for setting in settings
    ]


def as_markdown(settings: Iterable[Setting]) -> str:
    """For the documentation."""
    lines = ["| Setting | Default | Meaning |", "|---|---|---|"]
    for setting in settings:
        default = f"`{setting.default}`" if setting.default else "–"
        lines.append(f"| `{setting.name}` | {default} | {_cell(_whole_meaning(setting))} |")
    return "\n".join(lines) + "\n"


def as_env(settings: Iterable[Setting]) -> str:
    """A commented `.env.example`; every line is off, so copying it changes nothing."""
    blocks = [
        "# Settings of RagBase; made by `ragbase settings --env`.\n"
        "# Each may also be given as NAME_FILE, a path to a file that holds the value."
    ]
    blocks += [
        f"# {_whole_meaning(setting)}\n# {setting.name}={_env_value(setting.default)}"
        for setting in settings
    ]
    return "\n\n".join(blocks) + "\n"


def _setting(name: str, field: FieldInfo) -> Setting:
    alias = field.validation_alias
    names = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else []
    first, *others = names or [str(alias or name).upper()]
    return Setting(
        name=first,
        default=_written(field.default),
        meaning=field.description or "",
        secret=field.annotation is SecretStr,
        aliases=tuple(others),
        choices=_choices(field.annotation),
    )


def _written(default: object) -> str:
    match default:
        case None:
            return ""
        case bool():
            return "true" if default else "false"
        case SecretStr():
            return default.get_secret_value()
        case str() | Path() | int() | float():
            return str(default)
        case _:
            return json.dumps(default)


def _choices(annotation: object) -> tuple[str, ...]:
    """The values of a `Literal`, alone or inside ``… | None``."""
    found: list[str] = []
    for part in get_args(annotation):
        found += [part] if isinstance(part, str) else _choices(part)
    return tuple(found)


def _whole_meaning(setting: Setting) -> str:
    parts = [setting.meaning]
    if setting.choices:
        parts.append(f"One of {', '.join(setting.choices)}.")
    if setting.aliases:
        parts.append(f"Also read as {', '.join(setting.aliases)}.")
    if setting.secret:
        parts.append("Secret.")
    return " ".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _env_value(value: str) -> str:
    return f'"{value}"' if any(sign in value for sign in " #'") else value
