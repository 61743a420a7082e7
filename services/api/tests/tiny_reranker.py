"""Writes a cross-encoder of a few random numbers: quick to load, of the real kind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

__all__ = ["write_reranker"]

_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz"]
_WIDTH = 16
_TOKENS = 32


def write_reranker(folder: Path, labels: int = 1, seed: int = 0) -> Path:
    """One BERT layer and its head; words of one letter are known, it reads 32 tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification"],
        "id2label": {str(number): f"LABEL_{number}" for number in range(labels)},
        "hidden_size": _WIDTH,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "hidden_act": "gelu",
        "max_position_embeddings": _TOKENS,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    random = np.random.default_rng(seed)
    tensors = {
        name: random.normal(float("Norm.weight" in name), 0.3, shape).astype(np.float32)
        for name, shape in _shapes(labels).items()
    }
    save_file(tensors, folder / "model.safetensors")
    _tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def _shapes(labels: int) -> dict[str, tuple[int, ...]]:
    embeddings, layer = "bert.embeddings.", "bert.encoder.layer.0."
    dense = {
        layer + "attention.self.query": (_WIDTH, _WIDTH),
        layer + "attention.self.key": (_WIDTH, _WIDTH),
        layer + "attention.self.value": (_WIDTH, _WIDTH),
        layer + "attention.output.dense": (_WIDTH, _WIDTH),
        layer + "intermediate.dense": (4 * _WIDTH, _WIDTH),
        layer + "output.dense": (_WIDTH, 4 * _WIDTH),
        "bert.pooler.dense": (_WIDTH, _WIDTH),
        "classifier": (labels, _WIDTH),
    }
    norms = [
        f"{embeddings}LayerNorm",
        f"{layer}attention.output.LayerNorm",
        f"{layer}output.LayerNorm",
    ]
    return {
        f"{embeddings}word_embeddings.weight": (len(_WORDS), _WIDTH),
        f"{embeddings}position_embeddings.weight": (_TOKENS, _WIDTH),
        f"{embeddings}token_type_embeddings.weight": (2, _WIDTH),
        **{f"{name}.weight": shape for name, shape in dense.items()},
        **{f"{name}.bias": shape[:1] for name, shape in dense.items()},
        **{f"{name}.{leaf}": (_WIDTH,) for name in norms for leaf in ("weight", "bias")},
    }


def _tokenizer() -> Tokenizer:
    vocabulary = {word: number for number, word in enumerate(_WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer
