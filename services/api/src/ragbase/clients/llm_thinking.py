"""Thinking that a language model writes into its answer, and the answer without it.

Servers put it aside when they know the model's template; others send it along:

    <think>…</think>                     Qwen, DeepSeek, and most after them; also <thinking>, …
    …</think>                            the template had opened it already
    <think>…                             cut off, or all that the model had to say
    [THINK]…[/THINK]                     Mistral
    <|channel|>analysis<|message|>…<|channel|>final<|message|>   gpt-oss ("harmony")

What lies inside is never data, however much it looks like it.
"""

from __future__ import annotations

import re
from typing import Final

import orjson

__all__ = ["holds_thinking", "without_thinking"]

_NAMES: Final = "think|thinking|thought|thoughts|reasoning|reflection|seed:think"
_OPENER: Final = rf"(?:<\s*(?:{_NAMES})\s*>|\[think\]|◁think▷|<\|begin_of_thought\|>)"
_CLOSER: Final = rf"(?:<\s*/\s*(?:{_NAMES})\s*>|\[/think\]|◁/think▷|<\|end_of_thought\|>)"
_BLOCK: Final = re.compile(rf"{_OPENER}(?:(?!{_OPENER}).)*?{_CLOSER}", re.IGNORECASE | re.DOTALL)
"""The innermost ones first: blocks may be nested."""
_HEAD: Final = re.compile(rf"^.*{_CLOSER}", re.IGNORECASE | re.DOTALL)
_TAIL: Final = re.compile(rf"{_OPENER}.*$", re.IGNORECASE | re.DOTALL)
_ANY: Final = re.compile(rf"{_OPENER}|{_CLOSER}|<\|channel\|>", re.IGNORECASE)
_FINAL: Final = re.compile(r"<\|channel\|>\s*final\s*(?:<\|constrain\|>\w*\s*)?<\|message\|>")
_TOKEN: Final = re.compile(r"<\|(?:end|return|start|call)\|>.*$", re.DOTALL)


def without_thinking(text: str) -> str:
    """The answer alone, without white space around it; "" where all was thinking.

    A text that is JSON as a whole is left as it is: tags can then only stand in its strings.
    """
    text = text.strip()
    if not _ANY.search(text) or _is_json(text):
        return text
    if "<|channel|>" in text:
        text = _final_channel(text)
    before = None
    while before != text:
        before, text = text, _BLOCK.sub("", text)
    text = _HEAD.sub("", text)
    return _TAIL.sub("", text).strip()


def holds_thinking(text: str) -> bool:
    """Whether thinking came along in the answer."""
    return bool(_ANY.search(text)) and not _is_json(text.strip())


def _final_channel(text: str) -> str:
    """What stands in harmony's last ``final`` channel; "" where the model did not get so far."""
    parts = _FINAL.split(text)
    return _TOKEN.sub("", parts[-1]) if len(parts) > 1 else ""


def _is_json(text: str) -> bool:
    if not text.startswith(("{", "[")):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
