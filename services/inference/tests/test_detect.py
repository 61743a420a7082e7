"""The kind of a model, told by its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragbase_inference.detect import is_causal_reranker, kind_of, label_names, model_kind
from ragbase_inference.errors import ModelUnavailableError


def config(architecture: str, **more: Any) -> dict[str, Any]:
    return {"architectures": [architecture], **more}


@pytest.mark.parametrize(
    ("raw", "pooled", "kind"),
    [
        (config("BertModel"), True, "embedding"),
        (config("XLMRobertaModel"), False, "embedding"),
        (config("BertForMaskedLM"), True, "embedding"),
        ({}, False, "embedding"),
        (config("BertForSequenceClassification", id2label={"0": "LABEL_0"}), False, "reranker"),
        (config("XLMRobertaForSequenceClassification", num_labels=1), False, "reranker"),
        (config("BertForSequenceClassification"), False, "classifier"),
        (config("RobertaForSequenceClassification", num_labels=3), False, "classifier"),
        (config("Qwen3ForSequenceClassification", num_labels=1), False, "reranker"),
        (config("Qwen3ForCausalLM"), False, "reranker"),
        (config("Qwen3ForCausalLM"), True, "embedding"),
    ],
)
def test_kinds(raw: dict[str, Any], pooled: bool, kind: str) -> None:
    assert kind_of(raw, pooled=pooled) == kind


def test_only_qwen3_without_a_pooling_answers_yes_or_no() -> None:
    assert is_causal_reranker(config("Qwen3ForCausalLM"), pooled=False)
    assert not is_causal_reranker(config("Qwen3ForCausalLM"), pooled=True)
    assert not is_causal_reranker(config("Qwen3ForSequenceClassification"), pooled=False)


def test_a_gliner_folder_needs_no_config(tmp_path: Path) -> None:
    (tmp_path / "gliner_config.json").write_text("{}")
    assert model_kind(tmp_path) == "ner"


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"config\.json"):
        model_kind(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config("Qwen3ForCausalLM")))
    assert model_kind(tmp_path) == "reranker"
    (tmp_path / "modules.json").write_text("[]")
    assert model_kind(tmp_path) == "embedding"


@pytest.mark.parametrize("name", ["BertForTokenClassification", "BertForQuestionAnswering"])
def test_kinds_that_nothing_here_runs_are_refused(name: str) -> None:
    with pytest.raises(ModelUnavailableError, match=name):
        kind_of(config(name), pooled=False)


def test_labels_stand_in_the_order_of_their_numbers() -> None:
    many = {str(number): f"name {number}" for number in reversed(range(12))}
    assert label_names({"id2label": many}) == tuple(f"name {number}" for number in range(12))
    assert label_names({"num_labels": 1}) == ("LABEL_0",)
    assert label_names({}) == ("LABEL_0", "LABEL_1")
