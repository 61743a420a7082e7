"""JSON out of answers: whole values only, found among prose."""

from __future__ import annotations

import pytest

from ragbase.clients.llm_json import json_text
from ragbase.clients.vectors import UnusableAnswerError

OBJECT = {"type": "object"}
ARRAY = {"type": "array"}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2]}',
        '\n {"a": [1, 2]} \n',
        '```json\n{"a": [1, 2]}\n```',
        'Here you are:\n```\n{"a": [1, 2]}\n```\nGlad to help.',
        'See [1] and {this}: {"a": [1, 2]} — done.',
    ],
)
def test_the_value_is_found(text: str) -> None:
    assert json_text(text, OBJECT) == '{"a":[1,2]}'


def test_the_schema_says_which_value_is_meant() -> None:
    assert json_text('{"a": 1} ["b"]', ARRAY) == '["b"]'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot do that.",
        '{"a": [1, 2',
        '{"a": {"b": 1}, "c": ',
        '```json\n{"a": [1,\n```',
        "{'a': 1}",
        '{"a": NaN}',
        '["a"]',
        "{" * 5000,
    ],
)
def test_half_a_value_is_no_value(text: str) -> None:
    """Not even a whole one inside it: ``{"b": 1}`` is not what was asked for."""
    with pytest.raises(UnusableAnswerError):
        json_text(text, OBJECT)
