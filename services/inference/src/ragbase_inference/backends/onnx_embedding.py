"""Embedding models on ONNX Runtime: `ragbase_inference.kinds.EmbeddingModel` on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.backends.onnx_options import dtype_name, onnx_precision
from ragbase_inference.backends.options import OpenOptions
from ragbase_inference.config import ModelConfig, Prompts, read_config, read_prompts
from ragbase_inference.convert import default_precision, onnx_file
from ragbase_inference.embedder import BATCH_TOKENS
from ragbase_inference.kinds import ModelFacts
from ragbase_inference.resolve import ResolvedModel
from ragbase_inference.session import EncoderSession
from ragbase_inference.tokens import Encoded, Side, TextTokenizer
from ragbase_inference.vectors import text_vectors, token_vectors
from ragbase_inference.weights import folder_bytes

__all__ = ["OnnxEmbedding", "open_onnx_embedding"]


class OnnxEmbedding:
    """An `EmbeddingModel`; several threads may run batches at once."""

    def __init__(
        self,
        facts: ModelFacts,
        config: ModelConfig,
        tokenizer: TextTokenizer,
        prompts: Prompts,
        session: EncoderSession,
        memory: int,
    ) -> None:
        self.facts = facts
        self.tokenizer = tokenizer
        self._config = config
        self._prompts = prompts
        self._session = session
        self._memory = memory

    @property
    def prompts(self) -> Mapping[str, str]:
        """Prefixes by name, of the model's own files."""
        return self._prompts.by_name

    @property
    def default_prompt(self) -> str | None:
        """Name of the prompt that applies where none is asked for."""
        return self._prompts.default

    def encode(self, texts: Sequence[str], *, cut: Side | None) -> list[Encoded]:
        """See `EmbeddingModel.encode`."""
        return self.tokenizer.encode(texts, self.facts.max_tokens, cut=cut)

    def embed(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """See `EmbeddingModel.embed`."""
        return text_vectors(self._session, self._config, batch)

    def embed_tokens(self, batch: Sequence[Encoded]) -> list[NDArray[np.float32]]:
        """See `EmbeddingModel.embed_tokens`."""
        return token_vectors(self._session, self._config, batch)

    def memory_bytes(self) -> int:
        """Size of the weights; they are mapped, so less may be in RAM."""
        return self._memory

    def close(self) -> None:
        """Release the session; calls that run end first."""
        self._session.close()
        self._memory = 0


def open_onnx_embedding(found: ResolvedModel, options: OpenOptions) -> OnnxEmbedding:
    """Convert if needed, and load. Raises `ModelUnavailableError`."""
    config = read_config(found.name, found.folder)
    if options.pooling is not None:
        config = replace(config, pooling=options.pooling)
    precision = onnx_precision(config, options, default=default_precision(config))
    path = onnx_file(config, precision, options.report)
    facts = ModelFacts(
        model=found.name,
        revision=found.revision,
        kind="embedding",
        backend="onnx",
        device="cpu",
        dtype=dtype_name(precision),
        max_tokens=config.max_tokens,
        batch_tokens=BATCH_TOKENS,
        dimension=config.dimension,
        pooling=config.pooling,
    )
    return OnnxEmbedding(
        facts,
        config,
        TextTokenizer(found.folder),
        read_prompts(found.folder),
        EncoderSession(path, threads=options.threads),
        folder_bytes(path.parent),
    )
