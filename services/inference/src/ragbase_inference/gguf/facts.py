"""What a GGUF file's model is for, and how much memory it takes.

llama.cpp does not tell: it embeds with a chat model's last state and reranks with an embedder's
first number, and both look like answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragbase_inference.gguf.errors import UnusableFileError
from ragbase_inference.gguf.header import Header

__all__ = ["GgufFacts", "GgufKind", "read_facts"]

GgufKind: TypeAlias = Literal["chat", "embedding", "reranker"]

_POOLED = (1, 2, 3)
"""llama.cpp's mean, first token, last token; 0 is none."""
_RANK = 4
_HEADS = frozenset({"cls.weight", "cls.output.weight"})
"""Weights of a classification head."""
_ENCODERS = frozenset(
    {
        "bert",
        "eurobert",
        "gemma-embedding",
        "jina-bert-v2",
        "jina-bert-v3",
        "llama-embed",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "t5encoder",
    }
)
"""Architectures that write no text (llama.cpp, src/llama-arch.cpp)."""
_SCORES_ARE_PROBABILITIES = frozenset({"qwen3", "qwen3vl"})
"""Of these llama.cpp takes the softmax itself (src/llama-graph.cpp, build_pooling)."""
_CACHE_BYTES = 2
"""A number of the key-value cache is a float16."""


@dataclass(frozen=True, slots=True)
class GgufFacts:
    """What a model is, by its file."""

    kind: GgufKind
    architecture: str
    context: int
    """Most tokens that it was trained to read."""
    width: int
    """Numbers of a hidden state."""
    dimension: int | None
    """Of embedding models."""
    template: bool
    """Whether it brings a chat template."""
    scores_are_logits: bool
    """Whether a reranker's numbers need a sigmoid to lie in 0…1."""
    cache_bytes: int
    """Of the key-value cache, a token."""


def read_facts(header: Header) -> GgufFacts:
    """Raises `UnusableFileError` for what is no model, or says too little."""
    purpose = header.values.get("general.type", "model")
    if purpose != "model":
        raise UnusableFileError(f"the file holds no model but something of the type {purpose}")
    if not header.architecture:
        raise UnusableFileError("the file does not name the model's architecture")
    context, width = header.number("context_length"), header.number("embedding_length")
    if not context or not width:
        raise UnusableFileError("the file does not tell the model's context and width")
    kind = _kind(header)
    return GgufFacts(
        kind=kind,
        architecture=header.architecture,
        context=context,
        width=width,
        dimension=_dimension(header, width) if kind == "embedding" else None,
        template="tokenizer.chat_template" in header.values,
        scores_are_logits=header.architecture not in _SCORES_ARE_PROBABILITIES,
        cache_bytes=0 if header.architecture in _ENCODERS else _cache_bytes(header, width),
    )


def _kind(header: Header) -> GgufKind:
    pooling = header.number("pooling_type")
    if pooling == _RANK or header.tensors & _HEADS:
        return "reranker"
    if pooling in _POOLED or header.architecture in _ENCODERS:
        return "embedding"
    return "chat"


def _dimension(header: Header, width: int) -> int:
    """Some models end in a projection to another width."""
    return header.number("embedding_length_out") or width


def _cache_bytes(header: Header, width: int) -> int:
    """Keys and values of every layer; where the file tells them layer by layer, as of full heads."""
    heads = header.number("attention.head_count") or 1
    cached_heads = header.number("attention.head_count_kv") or heads
    key = header.number("attention.key_length") or width // heads
    value = header.number("attention.value_length") or width // heads
    layers = header.number("block_count") or 1
    return layers * cached_heads * (key + value) * _CACHE_BYTES
