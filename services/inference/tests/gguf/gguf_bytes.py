"""Heads of GGUF files, written value by value: what a test wants to be in them, sound or not."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["BERT", "LLAMA", "RANKER", "head", "text", "write_gguf"]

Values = Mapping[str, int | bool | float | str | list[str]]

BERT: Values = {
    "general.architecture": "bert",
    "bert.context_length": 512,
    "bert.embedding_length": 384,
    "bert.block_count": 6,
    "bert.pooling_type": 1,
    "tokenizer.ggml.tokens": ["[PAD]", "the", "cat"],
}
RANKER: Values = {**BERT, "bert.pooling_type": 4}
LLAMA: Values = {
    "general.architecture": "llama",
    "llama.context_length": 131072,
    "llama.embedding_length": 2048,
    "llama.block_count": 16,
    "llama.attention.head_count": 32,
    "llama.attention.head_count_kv": 8,
    "tokenizer.chat_template": "{{ messages }}",
}


def text(value: str) -> bytes:
    """A text as the format has it: its length, then its bytes."""
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: int | bool | float | str | list[str]) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + text(value)
        case _:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))


def head(values: Values, tensors: Sequence[str] = (), *, version: int = 3) -> bytes:
    """The bytes of a file without weights."""
    pairs = b"".join(text(key) + _value(value) for key, value in values.items())
    names = b"".join(text(name) + struct.pack("<IQIQ", 1, 8, 0, 0) for name in tensors)
    return b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values)) + pairs + names


def write_gguf(path: Path, values: Values, tensors: Sequence[str] = ()) -> Path:
    """A file that tells what it is, and holds nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head(values, tensors))
    return path
