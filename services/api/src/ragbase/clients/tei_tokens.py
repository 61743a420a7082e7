"""The tokens of a TEI-compatible server, over ``POST /tokenize``.

Synchronous: the splitter that asks runs in a worker thread. ``/tokenize`` neither truncates nor
takes a permit, but it refuses more inputs than ``max_client_batch_size`` and bodies of 2 MB, and
its answer is some twenty times the text: so long texts go in slices, a few at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragbase.clients.answers import Answer, RefusedError, json_of
from ragbase.clients.batches import Batch, batches
from ragbase.clients.http import SyncHttp
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.slices import slices
from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import ConfigurationError

__all__ = ["TeiTokenizer"]

REQUEST_BYTES = 256 * 1024
"""Text a request; the answer then stays near 5 MiB, and 10 for one-letter words."""
INPUTS = 32
"""TEI's default; halved where a server takes fewer."""

_PROBE = "a b"


class TeiTokenizer:
    """A `Tokenizer` that asks the server."""

    def __init__(self, http: SyncHttp, policy: RetryPolicy) -> None:
        self._http = http
        self._policy = policy
        self._inputs = INPUTS

    def spans(self, text: str) -> NDArray[np.int64]:
        """Shape (n, 2): start and end code points of each token of ``text``."""
        places = list(slices(text))
        found = self._tokens([text[start:end] for start, end in places])
        parts = [
            _code_points(text[start:end], tokens) + start
            for (start, end), tokens in zip(places, found, strict=True)
        ]
        return np.concatenate([np.empty((0, 2), np.int64), *parts])

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, without special tokens and prefixes."""
        pieces: list[str] = []
        borders = [0]
        for text in texts:
            pieces += [text[start:end] for start, end in slices(text)]
            borders.append(len(pieces))
        counts = [len(tokens) for tokens in self._tokens(pieces)]
        return [sum(counts[first:last]) for first, last in pairwise(borders)]

    def overhead(self, prefix: str) -> int:
        """Tokens of ``prefix`` and the special ones, which a passage cannot use.

        `ConfigurationError` for a server that prepends a text of its own, which would move all
        offsets and come on top of ours.
        """
        (plain,) = self._tokens([_PROBE])
        (special,) = self._tokens([_PROBE], special=True)
        if any((token.get("stop") or 0) > len(_PROBE) for token in plain):
            raise ConfigurationError(
                "The embedding server runs with a default prompt; start it without and set "
                "RAGBASE_EMBEDDING_PASSAGE_PREFIX and RAGBASE_EMBEDDING_QUERY_PREFIX."
            )
        return len(special) - len(plain) + sum(self.count([prefix]))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _tokens(
        self, texts: Sequence[str], *, special: bool = False
    ) -> Iterator[list[dict[str, Any]]]:
        for batch in batches(texts, self._inputs, REQUEST_BYTES):
            yield from self._ask(batch, special=special)

    def _ask(self, batch: Batch, *, special: bool) -> list[list[dict[str, Any]]]:
        count = len(batch.texts)
        try:
            return self._http.call(
                "POST",
                "tokenize",
                {"inputs": batch.texts, "add_special_tokens": special},
                read=lambda answer: _token_lists(answer, count),
                policy=self._policy,
            )
        except RefusedError as refusal:
            if not refusal.by_size or count == 1:
                raise
        first, second = (self._ask(half, special=special) for half in batch.halves())
        self._inputs = min(self._inputs, len(second))
        return first + second


def _token_lists(answer: Answer, count: int) -> list[list[dict[str, Any]]]:
    lists = json_of(answer)
    if not isinstance(lists, list) or len(lists) != count:
        raise UnusableAnswerError("The embedding server sent tokens for other texts than asked.")
    for tokens in lists:
        if not isinstance(tokens, list) or not all(isinstance(token, dict) for token in tokens):
            raise UnusableAnswerError("The embedding server sent something else than tokens.")
    return lists


def _code_points(text: str, tokens: Sequence[dict[str, Any]]) -> NDArray[np.int64]:
    """Spans in code points from TEI's ``start`` and ``stop``, which are UTF-8 bytes.

    A token of some bytes of a character (byte-level BPE) gets the whole character. A token without
    offsets (a special one written in the text) gets an empty span where the one before it ended.
    """
    raw = np.frombuffer(text.encode(), dtype=np.uint8)
    begun = np.concatenate([[0], np.cumsum((raw & 0xC0) != 0x80)])  # characters begun before byte i
    spans = np.empty((len(tokens), 2), dtype=np.int64)
    last = 0
    for number, token in enumerate(tokens):
        start, stop = token.get("start"), token.get("stop")
        start, stop = (last, last) if start is None or stop is None else (start, stop)
        if not (
            isinstance(start, int) and isinstance(stop, int) and 0 <= start <= stop <= len(raw)
        ):
            raise UnusableAnswerError("The embedding server sent tokens outside of the text.")
        spans[number] = start, stop
        last = stop
    inside = spans[:, 0] < spans[:, 1]
    starts = np.where(inside, begun[np.minimum(spans[:, 0] + 1, len(raw))] - 1, begun[spans[:, 0]])
    return np.stack([starts, begun[spans[:, 1]]], axis=1).astype(np.int64)
