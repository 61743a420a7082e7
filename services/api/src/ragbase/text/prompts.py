"""Prompt files: Markdown with placeholders, built in or out of an operator's folder (contract §10)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from ragbase.errors import ConfigurationError
from ragbase.telemetry.logs import get_logger

__all__ = ["Prompts"]

_REQUIRED: Final[Mapping[str, frozenset[str]]] = {
    "concise": frozenset(),
    "contextual_retrieval": frozenset({"document", "chunk"}),
    "localrag_context": frozenset({"document", "chunk"}),
    "query_entity_extraction": frozenset({"query"}),
}
"""Prompts by name, each in the file ``<name>.md``, and the placeholders that it must hold."""

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")
_COMMENT: Final = re.compile(r"\A\s*<!--.*?-->", re.DOTALL)

_log = get_logger("ragbase.prompts")


class Prompts:
    """All prompts, read and checked once; a changed file counts from the next start."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = dict(texts)

    @classmethod
    def load(cls, folder: Path | None = None) -> Prompts:
        """The built-in prompts; a file in ``folder`` takes the place of the one of its name.

        Raises `ConfigurationError` where a file cannot be read, is blank, or lacks a placeholder.
        """
        if folder is not None:
            _check_folder(folder)
        return cls({name: _checked(name, folder) for name in _REQUIRED})

    def fill(self, name: str, **values: str) -> str:
        """The prompt with its placeholders replaced, in one pass.

        Text that is put in is not looked at again; unknown placeholders stay as they are.
        """
        text = self._texts[name]
        return _PLACEHOLDER.sub(lambda found: values.get(found.group(1), found.group(0)), text)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ConfigurationError(f"RAGBASE_PROMPTS_DIR: there is no folder {folder}.")
    strays = sorted(path.name for path in folder.glob("*.md") if path.stem not in _REQUIRED)
    if strays:
        known = ", ".join(f"{name}.md" for name in _REQUIRED)
        _log.warning("prompt_files_unused", files=strays, hint=f"Prompts are {known}.")


def _checked(name: str, folder: Path | None) -> str:
    own = None if folder is None else folder / f"{name}.md"
    where = str(own) if own is not None and own.exists() else f"prompt {name}"
    text = _COMMENT.sub("", _read(name, own)).strip()
    if not text:
        raise ConfigurationError(f"{where}: it is blank.")
    there = set(_PLACEHOLDER.findall(text))
    missing = _REQUIRED[name] - there
    if missing:
        listed = ", ".join(f"{{{{{each}}}}}" for each in sorted(missing))
        raise ConfigurationError(f"{where}: it must hold {listed}.")
    if unknown := there - _REQUIRED[name]:
        _log.warning("prompt_placeholders_unknown", file=where, placeholders=sorted(unknown))
    return text


def _read(name: str, own: Path | None) -> str:
    if own is None or not own.exists():
        return files("ragbase.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")
    try:
        return own.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"{own}: {reason}.") from None
