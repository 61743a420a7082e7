"""YAML front matter of a Markdown file, as metadata."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar, Final

import yaml

__all__ = ["front_matter"]

_BLOCK: Final = re.compile(
    r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_MAX_CHARS: Final = 16_384


def front_matter(text: str) -> dict[str, Any]:
    """The mapping between the first lines ``---``; empty where there is none.

    Numbers are numbers only where nothing is lost (``1.10`` stays text), dates stay text, and
    true, false and null are those of JSON. Raises `ValueError` for what cannot be read.
    """
    found = _BLOCK.match(text)
    if found is None:
        return {}
    if len(found[1]) > _MAX_CHARS:
        raise ValueError(f"it has more than {_MAX_CHARS} characters")
    try:
        read = yaml.load(found[1], Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(getattr(error, "problem", None) or str(error) or "not YAML") from error
    return {_key(key): value for key, value in read.items()} if isinstance(read, dict) else {}


def _key(key: object) -> str:
    """A key that YAML reads as no text (``~``, ``true``, ``1``), as JSON would write it."""
    return key if isinstance(key, str) else json.dumps(key, default=str)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # ships no types
    """JSON's scalars, so that versions, times and countries stay what was written."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # a few of them can stand for gigabytes
            raise yaml.YAMLError("aliases are not taken")
        return super().compose_node(parent, index)


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float | str:
    text = str(loader.construct_scalar(node))
    number = float(text) if "." in text else int(text)
    return number if repr(number) == text else text


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:null|~|)$"), ["n", "~", ""])
_Loader.add_implicit_resolver(
    "!number", re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,17})?$"), list("-0123456789")
)
_Loader.add_constructor("!number", _number)
