"""The flags of ``ragbase-inference serve``, made out of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from ragbase_inference.server.settings import ServerSettings

__all__ = ["Flag", "flags", "flags_page"]

_GROUPS = {
    "model_id": "Models",
    "hostname": "Server",
    "max_client_batch_size": "Batching and bounds",
    "log_level": "Logs",
}
"""First setting of each group."""
_OPPOSITES = {"lazy": "--eager", "batching": "--no-batching"}
_PAGE = """# Flags of `ragbase-inference serve`

Made by `ragbase-inference flags`. A flag wins over its environment variable, which wins over the file
named by `<NAME>_FILE`; an empty variable is one that is not set. Names without `RAGBASE_INFERENCE_` are
those of text-embeddings-inference.
"""


@dataclass(frozen=True, slots=True)
class Flag:
    """One setting as a flag."""

    setting: str
    group: str
    variable: str
    text: str
    default: str
    """For people; empty where there is none."""
    form: Literal["value", "switch", "repeated"]
    values: tuple[str, ...]
    """What it may be, where that is a list."""
    opposite: str | None
    """A flag that sets it to false."""

    @property
    def name(self) -> str:
        """With its two dashes."""
        return f"--{self.setting.replace('_', '-')}"

    @property
    def facts(self) -> str:
        """Environment variable and default, in one line."""
        return f"env {self.variable}" + (f"; default {self.default}" if self.default else "")


def flags() -> Iterator[Flag]:
    """All of them, in the order of the settings."""
    group = ""
    for setting, field in ServerSettings.model_fields.items():
        group = _GROUPS.get(setting, group)
        yield Flag(
            setting=setting,
            group=group,
            variable=_variable(field),
            text=field.description or "",
            default=_default(field),
            form=_form(field),
            values=tuple(_values(field.annotation)),
            opposite=_OPPOSITES.get(setting),
        )


def _variable(field: FieldInfo) -> str:
    alias = field.validation_alias
    if not isinstance(alias, AliasChoices):
        raise TypeError("each setting has an environment variable")
    return str(alias.choices[0])


def _default(field: FieldInfo) -> str:
    extra, value = field.json_schema_extra, field.default
    if isinstance(extra, dict) and "default_text" in extra:
        return str(extra["default_text"])
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | str) else ""


def _form(field: FieldInfo) -> Literal["value", "switch", "repeated"]:
    if field.annotation is bool:
        return "switch"
    return "repeated" if get_origin(field.annotation) is tuple else "value"


def _values(annotation: Any) -> Iterator[str]:
    """Values of a Literal, also within a union."""
    for part in get_args(annotation):
        if isinstance(part, str):
            yield part
        else:
            yield from _values(part)


def flags_page() -> str:
    """All flags as a Markdown page."""
    lines, group = [_PAGE.rstrip()], ""
    for flag in flags():
        if flag.group != group:
            group = flag.group
            lines += [
                "",
                f"## {group}",
                "",
                "| flag | environment | default | |",
                "|---|---|---|---|",
            ]
        names = f"`{flag.name}`" + (f", `{flag.opposite}`" if flag.opposite else "")
        default = f"`{flag.default}`" if flag.default else ""
        text = flag.text.replace("|", "\\|")
        values = f" One of {', '.join(f'`{one}`' for one in flag.values)}." if flag.values else ""
        lines.append(f"| {names} | `{flag.variable}` | {default} | {text}{values} |")
    return "\n".join(lines) + "\n"
