"""What can run a model, told by the list of its files."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.files import ModelFiles, Runner, embedding_on_onnx, files_in, runners_of

BERT = {"model_type": "bert", "architectures": ["BertModel"]}
CROSS = {**BERT, "architectures": ["BertForSequenceClassification"], "num_labels": 1}
FOREIGN = {"model_type": "deberta-v2", "architectures": ["DebertaV2ForSequenceClassification"]}
QWEN = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}
TOKENS, SAFE, PICKLED, ONNX = (
    "tokenizer.json",
    "model.safetensors",
    "pytorch_model.bin",
    "onnx/model.onnx",
)


def files(config: dict[str, Any], *names: str) -> ModelFiles:
    return ModelFiles("own/model", config, frozenset(names))


@pytest.mark.parametrize(
    ("config", "names", "runners"),
    [
        (BERT, [TOKENS, SAFE], [Runner.ONNX_EMBEDDING, Runner.TORCH_EMBEDDING]),
        (
            BERT,
            [TOKENS, "model.safetensors.index.json"],
            [
                Runner.ONNX_EMBEDDING,
                Runner.TORCH_EMBEDDING,
            ],
        ),
        (BERT, [TOKENS, PICKLED], [Runner.TORCH_EMBEDDING]),
        (BERT, [TOKENS, PICKLED, ONNX], [Runner.ONNX_EMBEDDING, Runner.TORCH_EMBEDDING]),
        (BERT, [SAFE], [Runner.TORCH_EMBEDDING]),
        (CROSS, [TOKENS, SAFE], [Runner.ONNX_PAIRS, Runner.TORCH_PAIRS]),
        (FOREIGN, [TOKENS, SAFE], [Runner.TORCH_PAIRS]),
        (FOREIGN, [TOKENS, SAFE, ONNX], [Runner.ONNX_PAIRS, Runner.TORCH_PAIRS]),
        (FOREIGN, [TOKENS, ONNX], [Runner.ONNX_PAIRS]),
        (QWEN, [TOKENS, SAFE], [Runner.QWEN_RERANKER]),
        (QWEN, [TOKENS, SAFE, "modules.json"], [Runner.TORCH_EMBEDDING]),
        ({}, ["gliner_config.json", PICKLED], [Runner.GLINER]),
        (BERT, [TOKENS], []),
    ],
)
def test_runners(config: dict[str, Any], names: list[str], runners: list[Runner]) -> None:
    assert list(runners_of(files(config, *names))) == runners


def test_a_publishers_own_code_is_not_converted() -> None:
    own = files({**BERT, "auto_map": {"AutoModel": "x"}}, TOKENS, SAFE)
    assert runners_of(own) == (Runner.TORCH_EMBEDDING,)


def test_a_folder_is_read_as_a_repository_is(make_model: Any) -> None:
    folder = make_model("bert", labels=1, prefix="bert.")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").touch()
    found = files_in("m", folder)
    assert {TOKENS, SAFE, ONNX, "config.json"} <= found.names
    assert found.kind == "reranker"


@pytest.mark.parametrize(
    ("names", "why"), [([SAFE], "fast tokenizer"), ([TOKENS, PICKLED], "safetensors")]
)
def test_an_embedder_without_torch_says_what_it_lacks(names: list[str], why: str) -> None:
    assert embedding_on_onnx(files(BERT, TOKENS, SAFE)) is Runner.ONNX_EMBEDDING
    with pytest.raises(ModelUnavailableError, match=why):
        embedding_on_onnx(files(BERT, *names))
