"""Every command with its help, arguments and options, read off the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer.main
from typer.core import TyperArgument, TyperGroup, TyperOption

__all__ = ["commands_page", "help_text"]

_INDENTED = re.compile(r"^ {2,}\S")
_KINDS = {int: "N", float: "N", Path: "PATH", str: "TEXT"}


def commands_page() -> str:
    """The page."""
    from ragbase.cli.app import app

    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    parts = ["# Command line\n\nMade by `ragbase reference cli`.\n", help_text(root.help or "")]
    parts += [_command(name, command) for name, command in _all(root, "ragbase")]
    return "\n".join(parts).rstrip() + "\n"


def _all(group: TyperGroup, name: str) -> Iterator[tuple[str, Any]]:
    """Commands in the order in which they are listed, those of groups below their group."""
    for key, command in group.commands.items():
        if command.hidden:
            continue
        yield f"{name} {key}", command
        if isinstance(command, TyperGroup):
            yield from _all(command, f"{name} {key}")


def _command(name: str, command: Any) -> str:
    arguments = [each for each in command.params if isinstance(each, TyperArgument)]
    options = [each for each in command.params if isinstance(each, TyperOption) and not each.hidden]
    usage = " ".join([name, *(_placeholder(each) for each in arguments)])
    usage += " COMMAND" if isinstance(command, TyperGroup) else ""
    lines = [f"## `{usage}`\n", help_text(command.help or "")]
    lines += [f"- `{_placeholder(each)}`{_meaning(each)}" for each in arguments]
    lines += [f"- `{_names(each)}`{_meaning(each)}" for each in options if each.name != "help"]
    return "\n".join(lines).rstrip() + "\n"


def _placeholder(argument: TyperArgument) -> str:
    name = (argument.metavar or argument.name or "").upper()
    dots = "…" if argument.nargs == -1 else ""
    return f"{name}{dots}" if argument.required else f"[{name}{dots}]"


def _names(option: TyperOption) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    kind = option.metavar or _kind(option.type_descriptor.annotation)
    return f"{names} {kind}" if kind and not option.is_flag else names


def _kind(annotation: Any) -> str:
    """``N``, ``PATH``, or the values of an enumeration."""
    inner = get_args(annotation)
    if inner:
        return _kind(inner[0])
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(each.value) for each in annotation)
    return _KINDS.get(annotation, "")


def _meaning(parameter: TyperArgument | TyperOption) -> str:
    """Help, default and environment variable."""
    parts = [parameter.help or ""]
    default = parameter.default
    shown = default.value if isinstance(default, Enum) else default
    if isinstance(shown, (str, int, float)) and not isinstance(shown, bool) and shown != "":
        parts.append(f"Default: `{shown}`.")
    if parameter.envvar:
        parts.append(f"Environment: `{parameter.envvar}`.")
    told = " ".join(part for part in parts if part)
    return f": {_escaped(told)}" if told else ""


def help_text(text: str) -> str:
    """A command's help as Markdown: headings bold, indented lines as code."""
    lines: list[str] = []
    code = False
    for line in text.replace("[bold]", "**").replace("[/bold]", "**").splitlines():
        indented = _INDENTED.match(line) is not None
        if indented and not code:
            lines.append("```sh")
        elif code and not indented:
            _end_code(lines)
        code = indented
        lines.append(line.strip() if code else _escaped(line.strip()))
    if code:
        _end_code(lines)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _end_code(lines: list[str]) -> None:
    lines += ["```", ""]


def _escaped(text: str) -> str:
    return text.replace("<", "\\<")
