"""Loads GLiNER models by their authors' library, and refuses what it would make up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from ragbase_inference.config import position_offset
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.resolve import ResolvedModel

__all__ = ["ShortWords", "WithinText", "load_gliner", "token_limit"]

_LONGEST_WORD = 100
"""Characters of a word that are read: a word of a megabyte would be tokenised whole, and a word
is judged by its first token in any case."""
_TOKENS_UNLIMITED = 1024
"""For encoders without a table of positions; models are trained on 384 words and less."""
_UNBOUNDED = 1_000_000


class ShortWords:
    """A word splitter whose words are cut to 100 characters; their places are kept."""

    def __init__(self, split: Any) -> None:
        self._split = split

    def __call__(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Words of ``text`` with start and end."""
        for word, start, end in self._split(text):
            yield word[:_LONGEST_WORD], start, end


class WithinText:
    """A decoder that finds nothing in the padding of a batch.

    The library's decoder of token-level models looks there, too, and fails on what it finds.
    """

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder

    def decode(
        self, tokens: Sequence[Sequence[str]], classes: Any, logits: torch.Tensor, **options: Any
    ) -> Any:
        """Spans of each text of ``tokens``; ``logits`` are (texts, words, …)."""
        words = torch.tensor([len(one) for one in tokens], device=logits.device)
        padding = torch.arange(logits.shape[1], device=logits.device) >= words[:, None]
        mask = padding.reshape(*padding.shape, *[1] * (logits.dim() - 2))
        return self._decoder.decode(
            tokens, classes, logits.masked_fill(mask, float("-inf")), **options
        )


def load_gliner(found: ResolvedModel, dtype: torch.dtype) -> Any:
    """The library's model, on the CPU; raises `ModelUnavailableError` and what the library does."""
    from gliner import GLiNER

    model = GLiNER.from_pretrained(str(found.folder), local_files_only=True, map_location="cpu")
    for part in ("relations_layer", "labels_decoder"):
        if getattr(model.config, part, None) is not None:
            raise ModelUnavailableError(
                f"{found.name} has a {part.replace('_', ' ')}: GLiNER models that find relations "
                "or write labels of their own are not run here"
            )
    if missing := sorted(set(model.model.state_dict()) - _stored(found.folder)):
        raise ModelUnavailableError(
            f"{found.name} lacks weights, which would be made up: {', '.join(missing[:5])}"
        )
    model.data_processor.words_splitter = ShortWords(model.data_processor.words_splitter)
    model.decoder = WithinText(model.decoder)
    return model.to(dtype)


def _stored(folder: Path) -> set[str]:
    """Names of the weights in the folder."""
    if (path := folder / "model.safetensors").is_file():
        with safe_open(path, framework="numpy") as weights:
            return set(weights.keys())
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True, mmap=True)
    return set(weights)


def token_limit(model: Any) -> int:
    """Most tokens of labels and text together that the encoder reads."""
    tokenizer = model.data_processor.transformer_tokenizer
    encoder = model.config.encoder_config
    limits = [tokenizer.model_max_length]
    if encoder is not None and getattr(encoder, "position_biased_input", True):
        limits.append(encoder.max_position_embeddings - position_offset(encoder.to_dict()))
    return int(min([n for n in limits if n < _UNBOUNDED], default=_TOKENS_UNLIMITED))
