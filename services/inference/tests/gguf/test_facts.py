"""What a model is for is told by its file, as llama.cpp would run any model as anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragbase_inference.gguf.errors import UnusableFileError
from ragbase_inference.gguf.facts import GgufFacts, read_facts
from ragbase_inference.gguf.folder import GgufFile
from ragbase_inference.gguf.header import read_header
from ragbase_inference.gguf.opening import plan
from ragbase_inference.gguf.options import GgufOptions

from .gguf_bytes import BERT, LLAMA, RANKER, Values, write_gguf


def facts(folder: Path, values: Values, tensors: tuple[str, ...] = ()) -> GgufFacts:
    return read_facts(read_header(write_gguf(folder / "m.gguf", values, tensors)))


@pytest.mark.parametrize(
    ("values", "tensors", "kind"),
    [
        (BERT, (), "embedding"),
        ({**BERT, "bert.pooling_type": 2}, (), "embedding"),
        (RANKER, (), "reranker"),
        (BERT, ("cls.weight",), "reranker"),
        (BERT, ("cls.output.weight", "token_embd.weight"), "reranker"),
        (LLAMA, ("output.weight",), "chat"),
        ({**LLAMA, "llama.pooling_type": 3}, (), "embedding"),
        ({**LLAMA, "llama.pooling_type": 0}, (), "chat"),
    ],
)
def test_the_kind_is_told_by_pooling_head_and_architecture(
    tmp_path: Path, values: Any, tensors: tuple[str, ...], kind: str
) -> None:
    assert facts(tmp_path, values, tensors).kind == kind


def test_only_embedding_models_have_a_dimension(tmp_path: Path) -> None:
    assert facts(tmp_path, BERT).dimension == 384
    assert facts(tmp_path, {**BERT, "bert.embedding_length_out": 256}).dimension == 256
    assert facts(tmp_path, RANKER).dimension is None
    assert facts(tmp_path, LLAMA).dimension is None


def test_the_cache_of_a_chat_model_is_reckoned_by_its_heads(tmp_path: Path) -> None:
    """Llama 3.2 1B: 16 layers, 8 heads of 64 numbers for keys and as many for values, two bytes."""
    assert facts(tmp_path, LLAMA).cache_bytes == 16 * 8 * (64 + 64) * 2
    assert facts(tmp_path, BERT).cache_bytes == 0


def test_scores_that_are_probabilities_already_are_left_alone(tmp_path: Path) -> None:
    values = {key.replace("llama", "qwen3"): value for key, value in LLAMA.items()}
    qwen = {**values, "general.architecture": "qwen3", "qwen3.pooling_type": 4}
    assert not facts(tmp_path, qwen).scores_are_logits
    assert facts(tmp_path, RANKER).scores_are_logits


def test_a_template_is_noticed(tmp_path: Path) -> None:
    assert facts(tmp_path, LLAMA).template
    assert not facts(tmp_path, BERT).template


@pytest.mark.parametrize(
    "values",
    [
        {**LLAMA, "general.type": "adapter"},
        {key: value for key, value in BERT.items() if key != "general.architecture"},
        {key: value for key, value in BERT.items() if key != "bert.context_length"},
        {**BERT, "bert.embedding_length": 0},
    ],
)
def test_what_is_no_model_is_refused(tmp_path: Path, values: Values) -> None:
    with pytest.raises(UnusableFileError):
        facts(tmp_path, values)


@pytest.mark.parametrize(
    ("context", "held_mib"),
    [(2048, 709), (512, 473)],
)
def test_a_large_encoder_is_reckoned_to_take_what_one_took(
    tmp_path: Path, context: int, held_mib: int
) -> None:
    """Measured: 24 layers of 1,024 numbers in 8 bits, a file of 390 MB, on a pair of that length."""
    path = write_gguf(
        tmp_path / "m.gguf",
        {**RANKER, "bert.embedding_length": 1024, "bert.context_length": 8192},
    )
    file = GgufFile("m", "reranker", path, 389_575_328)
    need = plan(file, GgufOptions(text_context=context)).need_bytes
    assert held_mib * 1024**2 <= need <= 1.25 * held_mib * 1024**2
