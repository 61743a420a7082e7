"""Cross-encoders and classifiers on ONNX Runtime: `ragbase_inference.kinds.PairModel` on the CPU.

Source of the heads: transformers' ``…ForSequenceClassification``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.backends.onnx_options import dtype_name, onnx_precision
from ragbase_inference.backends.options import OpenOptions
from ragbase_inference.config import read_config
from ragbase_inference.convert import onnx_file
from ragbase_inference.detect import label_names, model_kind
from ragbase_inference.embedder import BATCH_TOKENS
from ragbase_inference.errors import ModelFailedError
from ragbase_inference.kinds import ModelFacts
from ragbase_inference.resolve import ResolvedModel
from ragbase_inference.session import HeadSession, pad, pad_segments
from ragbase_inference.tokens import Encoded, Side, TextTokenizer
from ragbase_inference.weights import folder_bytes

__all__ = ["OnnxPairs", "open_onnx_pairs"]


class OnnxPairs:
    """A `PairModel`; several threads may run batches at once."""

    def __init__(
        self,
        facts: ModelFacts,
        tokenizer: TextTokenizer,
        session: HeadSession,
        *,
        pad_id: int,
        memory: int,
    ) -> None:
        self.facts = facts
        self.tokenizer = tokenizer
        self._session = session
        self._pad_id = pad_id
        self._memory = memory

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str | None]], *, cut: Side | None
    ) -> list[Encoded]:
        """See `PairModel.encode_pairs`."""
        return self.tokenizer.encode_pairs(pairs, self.facts.max_tokens, cut=cut)

    def logits(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """See `PairModel.logits`."""
        ids, mask = pad([one.ids for one in batch], self._pad_id)
        segments = pad_segments([one.segments for one in batch], ids.shape[1])
        logits = self._session.logits(ids, mask, segments)
        if logits.shape != (len(batch), len(self.facts.labels)):
            raise ModelFailedError(
                f"{self.facts.model} gave logits of shape {logits.shape} for {len(batch)} texts "
                f"and {len(self.facts.labels)} labels"
            )
        return logits

    def memory_bytes(self) -> int:
        """Size of the weights; they are mapped, so less may be in RAM."""
        return self._memory

    def close(self) -> None:
        """Release the session; calls that run end first."""
        self._session.close()
        self._memory = 0


def open_onnx_pairs(found: ResolvedModel, options: OpenOptions) -> OnnxPairs:
    """Convert if needed, and load. Raises `ModelUnavailableError`."""
    config = read_config(found.name, found.folder, with_head=True)
    precision = onnx_precision(config, options, default="fp32")
    path = onnx_file(config, precision, options.report, with_head=True)
    facts = ModelFacts(
        model=found.name,
        revision=found.revision,
        kind=model_kind(found.folder),
        backend="onnx",
        device="cpu",
        dtype=dtype_name(precision),
        max_tokens=config.max_tokens,
        batch_tokens=BATCH_TOKENS,
        labels=label_names(config.encoder),
    )
    return OnnxPairs(
        facts,
        TextTokenizer(found.folder),
        HeadSession(path, threads=options.threads),
        pad_id=config.pad_id,
        memory=folder_bytes(path.parent),
    )
