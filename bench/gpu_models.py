"""Model folders with random weights, as large as the models that GPUs are bought for, or tiny.

Sizes: the ``config.json`` of BAAI/bge-m3 (XLM-RoBERTa large; bge-reranker-v2-m3 has the same with a
head of one label) and of Qwen/Qwen3-Reranker-4B. Their tokenizers come with the test suite.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    Qwen3Config,
    Qwen3ForCausalLM,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

from services.inference.tests_torch.models import qwen_tokenizer, word_piece

__all__ = ["NAMES", "write_models"]

NAMES = ("bge-m3", "bge-reranker", "qwen3-reranker")

_BGE = {
    "vocab_size": 250_002,
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "max_position_embeddings": 8194,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
}
_QWEN = {
    "vocab_size": 151_669,
    "hidden_size": 2560,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 9728,
    "max_position_embeddings": 40_960,
    "tie_word_embeddings": True,
}
_SPREAD = 1.0
"""Standard deviation of what a layer makes of a normalised input. As models are initialised for
training (0.02 for each weight), all texts would come out nearly alike, and nothing be compared."""
_TINY = {
    "vocab_size": 30_522,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}


def write_models(
    root: Path, device: torch.device, *, tiny: bool, qwen_layers: int | None = None
) -> dict[str, Path]:
    """Folders of all models, by name; weights are drawn on ``device`` and stored as bfloat16."""
    bge = {**_BGE, **(_TINY if tiny else {}), "pad_token_id": 0}
    qwen = {**_QWEN, **({**_TINY, "head_dim": 16, "num_key_value_heads": 2} if tiny else {})}
    if qwen_layers is not None and not tiny:
        qwen["num_hidden_layers"] = qwen_layers
    for settings in (bge, qwen):
        settings["initializer_range"] = _SPREAD / settings["hidden_size"] ** 0.5
    kinds: dict[str, Callable[[], Any]] = {
        "bge-m3": lambda: XLMRobertaModel(XLMRobertaConfig(**bge)),
        "bge-reranker": lambda: XLMRobertaForSequenceClassification(
            XLMRobertaConfig(**bge, num_labels=1)
        ),
        "qwen3-reranker": lambda: Qwen3ForCausalLM(Qwen3Config(**qwen)),
    }
    for number, (name, make) in enumerate(kinds.items()):
        _write(root / name, make, device, seed=number)
        _write_tokenizer(root / name, name)
    return {name: root / name for name in kinds}


def _write(folder: Path, make: Callable[[], Any], device: torch.device, seed: int) -> None:
    torch.manual_seed(seed)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with device:
            module = make()
    finally:
        torch.set_default_dtype(before)
    module.save_pretrained(folder, max_shard_size="4GB")


def _write_tokenizer(folder: Path, name: str) -> None:
    if name == "qwen3-reranker":
        qwen_tokenizer().save_pretrained(folder)
        return
    tokenizer = word_piece("roberta")
    tokenizer.model_max_length = 8192
    tokenizer.save_pretrained(folder)
    if name == "bge-m3":
        modules = [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling")))
        ]
        (folder / "modules.json").write_text(json.dumps(modules))
        (folder / "1_Pooling").mkdir()
        width = json.loads((folder / "config.json").read_text())["hidden_size"]
        pooling = {"embedding_dimension": width, "pooling_mode": "cls"}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
