"""Names and bounds of what is served."""

from __future__ import annotations

import pytest

from ragbase_inference.serving.spec import ModelSpec, ServingOptions, parse_spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("bge=BAAI/bge-m3", ModelSpec("bge", "BAAI/bge-m3")),
        ("q=Qwen/Qwen3-Reranker-4B@22e6", ModelSpec("q", "Qwen/Qwen3-Reranker-4B", "22e6")),
        ("a=/models/x=y", ModelSpec("a", "/models/x=y")),
        ("a=/models/me@home@v2", ModelSpec("a", "/models/me@home", "v2")),
    ],
)
def test_a_model_is_named_by_one_line(text: str, spec: ModelSpec) -> None:
    assert parse_spec(text) == spec


@pytest.mark.parametrize("text", ["", "a", "=b", "a=", "a=@r", "a=b@", "a b=c", "-a=b", "a/b=c"])
def test_other_lines_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="name"):
        parse_spec(text)


def test_answers_call_a_model_by_its_id_unless_told_otherwise() -> None:
    assert ModelSpec("a", "b/c").shown_name == "b/c"
    assert ModelSpec("a", "b/c", served_name="d").shown_name == "d"


def test_without_batching_a_batch_holds_one_input() -> None:
    assert ServingOptions().batch_items is None
    assert ServingOptions(max_batch_requests=3).batch_items == 3
    assert ServingOptions(max_batch_requests=3, batching=False).batch_items == 1
