"""The JSON value in a language model's answer: bare, in a code fence, or among prose."""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

import orjson

from ragbase.clients.llm import JsonSchema
from ragbase.clients.vectors import UnusableAnswerError

__all__ = ["json_text"]

_FENCE: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_DECODER: Final = JSONDecoder(parse_constant=lambda name: _refuse(name))
_TRIES: Final = 64
"""Places tried; prose with more brackets than this before the value is no answer."""


def json_text(text: str, schema: JsonSchema) -> str:
    """The first JSON value of the schema's type in ``text``, as compact JSON.

    Raises `UnusableAnswerError` where there is none that is whole: half a value is no value.
    ``text`` must be free of thinking.
    """
    opener, kind = ("[", list) if schema.get("type") == "array" else ("{", dict)
    for part in (text, *_FENCE.findall(text)):
        value = _whole(part.strip())
        if isinstance(value, kind):
            return orjson.dumps(value).decode()
    value = _first(text, opener)
    if value is None:
        raise UnusableAnswerError("The language model's answer holds no whole JSON value.")
    return orjson.dumps(value).decode()


def _whole(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _first(text: str, opener: str) -> Any:
    """Outermost values only: what follows an opener that cannot be read may be a part of it."""
    place = text.find(opener)
    for _ in range(_TRIES):
        if place < 0:
            return None
        try:
            return _DECODER.raw_decode(text, place)[0]
        except (JSONDecodeError, ValueError, RecursionError):
            if _is_cut(text, place):
                return None
            place = text.find(opener, place + 1)
    return None


def _is_cut(text: str, place: int) -> bool:
    """Whether the value that begins at ``place`` runs to the text's end without being closed."""
    depth, quoted, escaped = 0, False, False
    for character in text[place:]:
        if escaped:
            escaped = False
        elif quoted and character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif not quoted and character in "[{":
            depth += 1
        elif not quoted and character in "]}":
            depth -= 1
            if depth == 0:
                return False
    return True


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
