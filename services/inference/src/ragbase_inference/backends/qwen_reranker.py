"""Qwen3-Reranker: a language model that is asked whether a document answers a query.

Source: the model card of Qwen/Qwen3-Reranker-0.6B. Its score, the softmax of the logits of "yes"
and "no" for the next token, is ``sigmoid(yes - no)``; so that difference is the logit of a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ragbase_inference.backends.options import OpenOptions
from ragbase_inference.backends.qwen_template import MAX_TOKENS, NO, YES, QwenTemplate
from ragbase_inference.backends.torch_batch import pad
from ragbase_inference.backends.torch_model import TorchModel, load, text_tokenizer
from ragbase_inference.backends.torch_placement import place
from ragbase_inference.config import max_tokens, read_object
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.kinds import ModelFacts, Side
from ragbase_inference.resolve import ResolvedModel
from ragbase_inference.tokens import Encoded, TextTokenizer

__all__ = ["QwenReranker", "open_qwen_reranker"]


class QwenReranker(TorchModel):
    """A `PairModel` of one column."""

    def __init__(
        self,
        decoder: Any,
        answer: torch.Tensor,
        *,
        template: QwenTemplate,
        device: torch.device,
        facts: ModelFacts,
        tokenizer: TextTokenizer,
    ) -> None:
        """``answer`` (width): of the output layer, in fp32, the row of "yes" less that of "no"."""
        super().__init__(decoder, device=device, facts=facts, tokenizer=tokenizer)
        self._answer = answer.to(device)
        self._template = template
        self._pad_id = int(decoder.config.pad_token_id or 0)

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str | None]], *, cut: Side | None
    ) -> list[Encoded]:
        """Prompts, see `QwenTemplate`; a lone text is the document of an empty query."""
        whole = [(one, two) if two is not None else ("", one) for one, two in pairs]
        return self._template.encode(whole, cut=cut)

    def logits(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """Shape (rows, 1): log-odds of yes against no; raises as `run_on` does."""
        return self._run(lambda decoder: self._logits(decoder, batch))

    def _logits(self, decoder: Any, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """Padded on the left, so the last position of each row is where the answer would stand.

        Only there, and of two tokens only, are logits computed: all of them would be 600 kB a
        token. Positions count from a row's first token, so padding changes nothing.
        """
        padded = pad(batch, self._pad_id, self._device, side="left")
        states = decoder(
            input_ids=padded.ids,
            attention_mask=padded.mask,
            position_ids=(padded.mask.cumsum(dim=1) - 1).clamp(min=0),
            use_cache=False,
        ).last_hidden_state
        found: NDArray[np.float32] = (states[:, -1].float() @ self._answer)[:, None].cpu().numpy()
        return found


def open_qwen_reranker(found: ResolvedModel, options: OpenOptions) -> QwenReranker:
    """Load the model in ``found.folder``; raises `ModelUnavailableError`."""
    config = read_object(found.folder / "config.json", required=True)
    placed = place(found, options, config)
    module, its_tokenizer = load(found.name, lambda: _language_model(found, placed.dtype))
    tokenizer = text_tokenizer(found.folder, its_tokenizer)
    limit = min(MAX_TOKENS, max_tokens(config, found.folder))
    rows = module.lm_head.weight
    if module.config.pad_token_id is None:
        module.config.pad_token_id = its_tokenizer.pad_token_id
    return QwenReranker(
        module.model,
        (rows[_token(tokenizer, YES)].float() - rows[_token(tokenizer, NO)].float()).detach(),
        template=QwenTemplate(tokenizer, limit, options.instruction),
        device=placed.device,
        facts=placed.facts(found, "reranker", max_tokens=limit, labels=(YES,)),
        tokenizer=tokenizer,
    )


def _token(tokenizer: TextTokenizer, word: str) -> int:
    (encoded,) = tokenizer.encode([word], 8, special=False)
    if len(encoded) != 1:
        raise ModelUnavailableError(f"the tokenizer has no single token for {word!r}")
    return encoded.ids[0]


def _language_model(found: ResolvedModel, dtype: torch.dtype) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    module = AutoModelForCausalLM.from_pretrained(found.folder, dtype=dtype, local_files_only=True)
    return module, AutoTokenizer.from_pretrained(found.folder, local_files_only=True)
