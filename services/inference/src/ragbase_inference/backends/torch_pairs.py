"""Rerankers and classifiers that torch runs: an encoder with a sequence-classification head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ragbase_inference.backends.options import OpenOptions
from ragbase_inference.backends.torch_batch import Batch, pad
from ragbase_inference.backends.torch_model import TorchModel, float32_head, load, text_tokenizer
from ragbase_inference.backends.torch_placement import place
from ragbase_inference.config import max_tokens, read_object
from ragbase_inference.detect import label_names
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.kinds import ModelFacts, Side
from ragbase_inference.resolve import ResolvedModel
from ragbase_inference.tokens import Encoded, TextTokenizer

__all__ = ["TorchPairs", "open_torch_pairs"]


class TorchPairs(TorchModel):
    """A `PairModel`: transformers' ``…ForSequenceClassification``."""

    def __init__(
        self,
        module: Any,
        *,
        device: torch.device,
        facts: ModelFacts,
        tokenizer: TextTokenizer,
    ) -> None:
        super().__init__(module, device=device, facts=facts, tokenizer=tokenizer)
        self._pad_id = int(module.config.pad_token_id or 0)
        # RoBERTa and its kin have one segment for all, whatever their tokenizer says.
        self._takes_segments = getattr(module.config, "type_vocab_size", 0) > 1

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str | None]], *, cut: Side | None
    ) -> list[Encoded]:
        """Token ids; see `PairModel`."""
        return self.tokenizer.encode_pairs(pairs, self.facts.max_tokens, cut=cut)

    def logits(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """Shape (rows, labels), before any activation; raises as `run_on` does."""
        return self._run(lambda module: self._logits(module, batch))

    def _logits(self, module: Any, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        padded = pad(batch, self._pad_id, self._device)
        found = module(**self._inputs(padded)).logits
        logits: NDArray[np.float32] = found.float().cpu().numpy()
        return logits

    def _inputs(self, padded: Batch) -> dict[str, torch.Tensor]:
        inputs = {"input_ids": padded.ids, "attention_mask": padded.mask}
        return {**inputs, "token_type_ids": padded.segments} if self._takes_segments else inputs


def open_torch_pairs(found: ResolvedModel, options: OpenOptions) -> TorchPairs:
    """Load the model in ``found.folder``; raises `ModelUnavailableError`."""
    config = read_object(found.folder / "config.json", required=True)
    placed = place(found, options, config)
    module, tokenizer = load(found.name, lambda: _classifier(found, placed.dtype))
    labels = label_names(config)
    return TorchPairs(
        module,
        device=placed.device,
        facts=placed.facts(
            found,
            "reranker" if len(labels) == 1 else "classifier",
            max_tokens=max_tokens(config, found.folder),
            labels=labels,
        ),
        tokenizer=text_tokenizer(found.folder, tokenizer),
    )


def _classifier(found: ResolvedModel, dtype: torch.dtype) -> tuple[Any, Any]:
    """Model and tokenizer; raises `ModelUnavailableError` where the head has no weights."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    # Attention is torch's own (SDPA) wherever the architecture has it: transformers' default.
    module, report = AutoModelForSequenceClassification.from_pretrained(
        found.folder, dtype=dtype, local_files_only=True, output_loading_info=True
    )
    if missing := sorted(report["missing_keys"]):
        raise ModelUnavailableError(
            f"{found.name} lacks weights, which would be made up: {', '.join(missing[:5])}"
        )
    tokenizer = AutoTokenizer.from_pretrained(found.folder, local_files_only=True)
    if module.config.pad_token_id is None:  # decoders find a text's last token by it
        module.config.pad_token_id = tokenizer.pad_token_id
    for name, part in module.named_children():
        if name != module.base_model_prefix:
            float32_head(part)
    return module, tokenizer
