"""A text embedder in this process: tokens, encoder, pooling, unit vectors."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.config import ModelConfig, Precision, read_config
from ragbase_inference.convert import Report, default_precision, onnx_file
from ragbase_inference.cores import usable_cores
from ragbase_inference.families import Prefixes
from ragbase_inference.pooling import unit_rows
from ragbase_inference.resolve import resolve
from ragbase_inference.session import EncoderSession
from ragbase_inference.tokens import Encoded, TextTokenizer
from ragbase_inference.vectors import text_vectors
from ragbase_inference.weights import folder_bytes

__all__ = ["BATCH_PADDING", "BATCH_TOKENS", "TextEmbedder", "open_embedder"]

log = logging.getLogger(__name__)

BATCH_TOKENS = 1024
"""Most tokens of a batch, padding included: on a CPU larger ones are no quicker and need memory
in proportion."""
BATCH_PADDING = 32
"""Most tokens of padding that a text may add to a batch: on a CPU a padded token costs as much as
any other, and a batch of its own no more than 16. Texts of many documents at once would be padded
by 17 % in order of arrival; so by 2 %."""

_TWO_SESSIONS_BELOW_BYTES = 512 * 1024 * 1024
"""Larger weights are not held twice: their queries share the session of the passages."""


class TextEmbedder:
    """Synchronous and safe to call from several threads; one text, one vector, in any batch.

    ``passages`` uses all threads it was given. ``queries`` should use one: a query is too short
    to gain from more, so it leaves the other cores to the database and runs undisturbed beside
    a batch of passages. ``queries_at_once``: how many calls of `run_queries` gain from running
    beside one another.
    """

    def __init__(
        self,
        config: ModelConfig,
        tokenizer: TextTokenizer,
        prefixes: Prefixes,
        *,
        passages: EncoderSession,
        queries: EncoderSession,
        queries_at_once: int = 1,
    ) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.prefixes = prefixes
        self._passages = passages
        self._queries = queries
        self.queries_at_once = queries_at_once

    @property
    def overhead_tokens(self) -> int:
        """Tokens of the model's limit that a passage cannot use: special ones and the prefix."""
        (prefix,) = self.tokenizer.count([self.prefixes.passage])
        return self.tokenizer.special_tokens + prefix

    def encode_query(self, text: str) -> Encoded:
        """The query behind its prefix, cut to the model's limit."""
        return self.encode_texts([self.prefixes.query + text])[0]

    def encode_passages(self, texts: Sequence[str]) -> list[Encoded]:
        """Each passage behind its prefix; raises `TextTooLongError` rather than cut one."""
        whole = [self.prefixes.passage + text for text in texts]
        return self.tokenizer.encode(whole, self.config.max_tokens, cut=None)

    def encode_texts(self, texts: Sequence[str]) -> list[Encoded]:
        """Each text as it is, cut to the model's limit."""
        return self.tokenizer.encode(texts, self.config.max_tokens)

    def run_passages(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """Unit vectors (rows, dimension) of one batch, in one pass through the encoder."""
        return self._run(self._passages, batch)

    def run_queries(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """The same vectors as `run_passages`, computed aside of it."""
        return self._run(self._queries, batch)

    def _run(self, session: EncoderSession, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        return unit_rows(text_vectors(session, self.config, batch))

    def embed(self, encoded: Sequence[Encoded]) -> NDArray[np.float32]:
        """Unit vectors (rows, dimension) of any number of texts, in batches of like length."""
        vectors = np.empty((len(encoded), self.config.dimension), np.float32)
        order = sorted(range(len(encoded)), key=lambda row: len(encoded[row]))
        for rows in _batches(order, encoded):
            vectors[rows] = self.run_passages([encoded[row] for row in rows])
        return vectors


def _batches(order: list[int], encoded: Sequence[Encoded]) -> list[list[int]]:
    """Split rows, sorted by length, where a batch would pass `BATCH_TOKENS` with its padding."""
    batches: list[list[int]] = []
    for row in order:
        if batches and (len(batches[-1]) + 1) * len(encoded[row]) <= BATCH_TOKENS:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def open_embedder(
    model: str,
    *,
    threads: int = 0,
    query_prefix: str | None = None,
    passage_prefix: str | None = None,
    precision: Precision | None = None,
    report: Report = log.info,
) -> TextEmbedder:
    """Find, convert if needed, and load ``model`` (a folder or a Hugging Face id).

    ``threads`` = 0 takes all usable cores. Prefixes left None are those of the model's files.
    ``report`` is told before anything slow begins. Raises `ModelUnavailableError`; may take
    minutes when the model has to be fetched, seconds when converted, else a fraction of one.
    """
    found = resolve(model)
    config = read_config(found.name, found.folder)
    tokenizer = TextTokenizer(found.folder)
    path = onnx_file(config, precision or default_precision(config), report)
    passages = EncoderSession(path, threads=threads)
    twice = folder_bytes(path.parent) < _TWO_SESSIONS_BELOW_BYTES
    return TextEmbedder(
        config,
        tokenizer,
        Prefixes(
            query=config.prefixes.query if query_prefix is None else query_prefix,
            passage=config.prefixes.passage if passage_prefix is None else passage_prefix,
        ),
        passages=passages,
        queries=EncoderSession(path, threads=1) if twice else passages,
        queries_at_once=(threads or usable_cores()) if twice else 1,
    )
