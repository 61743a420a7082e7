"""Thinking in answers (B079): removed in all its forms, never taken for data."""

from __future__ import annotations

import pytest

from ragbase.clients.llm_thinking import holds_thinking, without_thinking

JSON = '{"name": "right"}'
DRAFT = '{"name": "wrong"}'


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"<think>Perhaps {DRAFT}?</think>{JSON}", JSON),
        (f"<think>\n{DRAFT}\n</think>\n\n{JSON}\n", JSON),
        (f"<THINK>{DRAFT}</Think> {JSON}", JSON),
        (f"< think >{DRAFT}</ think >{JSON}", JSON),
        (f"<thinking>{DRAFT}</thinking>{JSON}", JSON),
        (f"<reasoning>{DRAFT}</reasoning>{JSON}", JSON),
        (f"[THINK]{DRAFT}[/THINK]{JSON}", JSON),
        (f"◁think▷{DRAFT}◁/think▷{JSON}", JSON),
        (f"{DRAFT} No.</think>{JSON}", JSON),
        (f"First. <think>{DRAFT}</think> Second.", "First.  Second."),
        (f"<think>a</think>One<think>{DRAFT}</think> two", "One two"),
        (f"<think>a <think>{DRAFT}</think> b</think>{JSON}", JSON),
        (f"<think>{DRAFT}", ""),
        (f"<think>\n{DRAFT}\n", ""),
        (f"So.\n<think>{DRAFT}", "So."),
        ("<think></think>", ""),
        (
            f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"
            f"<|channel|>final<|message|>{JSON}<|return|>",
            JSON,
        ),
        (f"<|channel|>analysis<|message|>{DRAFT}", ""),
        ("  A plain answer.\n", "A plain answer."),
        ("", ""),
    ],
)
def test_thinking_is_removed_wherever_it_stands(text: str, answer: str) -> None:
    """B079: tags before JSON, JSON-like text inside the tags, a tag that is never closed."""
    assert without_thinking(text) == answer


@pytest.mark.parametrize("text", ['{"tag": "<think>"}', '["a </think> b", "<think>c</think>"]'])
def test_tags_in_the_strings_of_a_json_answer_are_data(text: str) -> None:
    assert without_thinking(text) == text
    assert not holds_thinking(text)


@pytest.mark.parametrize("text", ["<think>a</think>b", "a</think>b", "<think>a", "[THINK]a"])
def test_what_leaks_is_seen(text: str) -> None:
    assert holds_thinking(text)


def test_a_long_unclosed_block_costs_no_quadratic_time() -> None:
    assert without_thinking("<think>" * 20_000 + "x" * 100_000) == ""
