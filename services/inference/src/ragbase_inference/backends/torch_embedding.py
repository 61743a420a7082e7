"""Embedding models that torch runs, through sentence-transformers.

Its modules do the work, so whatever a model adds to encoder and pooling (a dense layer, a layer
norm) has its part; only the last step to unit length is left to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ragbase_inference.backends.options import OpenOptions
from ragbase_inference.backends.torch_batch import pad
from ragbase_inference.backends.torch_model import TorchModel, load, text_tokenizer
from ragbase_inference.backends.torch_placement import place
from ragbase_inference.config import max_tokens, read_object, read_prompts
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.kinds import ModelFacts, Side
from ragbase_inference.resolve import ResolvedModel
from ragbase_inference.tokens import Encoded, TextTokenizer

__all__ = ["TorchEmbedding", "open_torch_embedding"]


class TorchEmbedding(TorchModel):
    """An `EmbeddingModel`; the first module is the encoder, the others make one vector of it."""

    def __init__(
        self,
        modules: torch.nn.ModuleList,
        *,
        prompts: Mapping[str, str],
        default_prompt: str | None,
        pad_id: int,
        device: torch.device,
        facts: ModelFacts,
        tokenizer: TextTokenizer,
    ) -> None:
        super().__init__(modules, device=device, facts=facts, tokenizer=tokenizer)
        self.prompts = prompts
        self.default_prompt = default_prompt
        self._pad_id = pad_id

    def encode(self, texts: Sequence[str], *, cut: Side | None) -> list[Encoded]:
        """Token ids; see `EmbeddingModel`."""
        return self.tokenizer.encode(texts, self.facts.max_tokens, cut=cut)

    def embed(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """Pooled vectors (rows, dimension), not normalised; raises as `run_on` does."""
        return self._run(lambda modules: _numpy(self._vectors(modules, batch)))

    def embed_tokens(self, batch: Sequence[Encoded]) -> list[NDArray[np.float32]]:
        """Last hidden state of every token: (tokens, width) each; raises as `run_on` does."""
        states = self._run(lambda modules: _numpy(self._states(modules, batch)["token_embeddings"]))
        return [states[row, : len(one)] for row, one in enumerate(batch)]

    def _vectors(self, modules: torch.nn.ModuleList, batch: Sequence[Encoded]) -> torch.Tensor:
        features = self._states(modules, batch)
        for module in modules[1:]:
            features = module(features)
        vectors: torch.Tensor = features["sentence_embedding"]
        return vectors

    def _states(self, modules: torch.nn.ModuleList, batch: Sequence[Encoded]) -> dict[str, Any]:
        """What the encoder gives, in fp32, so that pooling loses nothing."""
        padded = pad(batch, self._pad_id, self._device)
        given = {"input_ids": padded.ids, "attention_mask": padded.mask}
        features: dict[str, Any] = modules[0](given)
        features["token_embeddings"] = features["token_embeddings"].float()
        return features


def _numpy(values: torch.Tensor) -> NDArray[np.float32]:
    found: NDArray[np.float32] = values.float().cpu().numpy()
    return found


def open_torch_embedding(found: ResolvedModel, options: OpenOptions) -> TorchEmbedding:
    """Load the model in ``found.folder``; raises `ModelUnavailableError`."""
    encoder = read_object(found.folder / "config.json", required=True)
    placed = place(found, options, encoder)
    model = load(found.name, lambda: _sentence_model(found, placed.dtype))
    modules = _modules(model, options.pooling, found.name)
    prompts = read_prompts(found.folder)
    return TorchEmbedding(
        modules,
        prompts=prompts.by_name,
        default_prompt=prompts.default,
        pad_id=int(encoder.get("pad_token_id") or 0),
        device=placed.device,
        facts=placed.facts(
            found,
            "embedding",
            max_tokens=max_tokens(encoder, found.folder),
            dimension=int(model.get_embedding_dimension()),
            pooling=_pooling_name(modules),
        ),
        tokenizer=text_tokenizer(found.folder, model.tokenizer),
    )


def _sentence_model(found: ResolvedModel, dtype: torch.dtype) -> Any:
    from sentence_transformers import SentenceTransformer

    # Attention is torch's own (SDPA) wherever the architecture has it: transformers' default.
    return SentenceTransformer(
        str(found.folder), device="cpu", local_files_only=True, model_kwargs={"dtype": dtype}
    )


def _modules(model: Any, pooling: str | None, name: str) -> torch.nn.ModuleList:
    """Encoder and what follows it, in fp32, up to the step to unit length.

    Raises `ModelUnavailableError` for what would pool otherwise than it was trained.
    """
    encoder, *others = list(model)
    kept = [module.float() for module in others if type(module).__name__ != "Normalize"]
    pools = [module for module in kept if type(module).__name__ == "Pooling"]
    if len(pools) != 1 or kept[0] is not pools[0]:
        raise ModelUnavailableError(
            f"{name} is no encoder followed by one pooling: {[type(m).__name__ for m in model]}"
        )
    if not pools[0].include_prompt:
        raise ModelUnavailableError(f"{name} leaves its prompt out of the pooling: not supported")
    if pooling is not None:
        kept[0] = type(pools[0])(pools[0].embedding_dimension, pooling_mode=pooling)
    return torch.nn.ModuleList([encoder, *kept])


def _pooling_name(modules: torch.nn.ModuleList) -> str:
    mode: Any = modules[1].pooling_mode
    return mode if isinstance(mode, str) else "+".join(mode)
