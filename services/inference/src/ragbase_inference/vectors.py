"""From token ids to vectors, on an encoder's session."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.config import ModelConfig
from ragbase_inference.pooling import pool
from ragbase_inference.session import EncoderSession, pad
from ragbase_inference.tokens import Encoded

__all__ = ["text_vectors", "token_vectors"]


def text_vectors(
    session: EncoderSession, config: ModelConfig, batch: Sequence[Encoded]
) -> NDArray[np.float32]:
    """Pooled vectors (rows, dimension), not normalised, in one pass through the encoder."""
    ids, mask = pad([one.ids for one in batch], config.pad_id)
    return pool(session.hidden_state(ids, mask), mask, config.pooling)


def token_vectors(
    session: EncoderSession, config: ModelConfig, batch: Sequence[Encoded]
) -> list[NDArray[np.float32]]:
    """Hidden states of every token, (tokens, dimension) a text, without padding."""
    ids, mask = pad([one.ids for one in batch], config.pad_id)
    hidden = session.hidden_state(ids, mask)
    return [rows[: len(one)] for rows, one in zip(hidden, batch, strict=True)]
