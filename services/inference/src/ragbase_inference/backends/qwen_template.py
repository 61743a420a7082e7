"""The prompt of Qwen3-Reranker, token for token.

Source: the model card of Qwen/Qwen3-Reranker-0.6B (4B and 8B have the same), and Zhang et al.,
Qwen3 Embedding: Advancing Text Embedding and Reranking Through Foundation Models, 2025. The model
is asked for a yes or a no; an empty passage of thought makes it answer at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragbase_inference.errors import ModelUnavailableError, TextTooLongError
from ragbase_inference.kinds import Side
from ragbase_inference.tokens import Encoded, TextTokenizer

__all__ = ["INSTRUCTION", "MAX_TOKENS", "NO", "PREFIX", "SUFFIX", "YES", "QwenTemplate"]

PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n"
)
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
MAX_TOKENS = 8192
"""What its publisher cuts prompts to."""
YES, NO = "yes", "no"
_LEAST = 16
"""Tokens that an instruction must leave for query and document."""
_UNBOUNDED = 1_000_000_000


class QwenTemplate:
    """Makes prompts of at most ``limit`` tokens; beginning and end of a prompt are never cut."""

    def __init__(self, tokenizer: TextTokenizer, limit: int, instruction: str | None) -> None:
        """``instruction`` says what the model shall look for; raises `ModelUnavailableError`."""
        self._tokenizer = tokenizer
        self._limit = limit
        self._instruction = instruction or INSTRUCTION
        self._prefix, self._suffix, self._frame = self._ids(PREFIX, SUFFIX, self._head(""))
        self._room = limit - len(self._prefix) - len(self._suffix)
        if len(self._frame) + _LEAST > self._room:
            raise ModelUnavailableError(
                f"the instruction leaves no room for a query and a document in {limit} tokens"
            )

    def _ids(self, *texts: str) -> list[list[int]]:
        encoded = self._tokenizer.encode(texts, _UNBOUNDED, special=False)
        return [one.ids for one in encoded]

    def _head(self, query: str) -> str:
        """What stands before the document; a document begins with the blank after the colon.

        There the tokenizer splits in any case, so head and document may be tokenised apart.
        """
        return f"<Instruct>: {self._instruction}\n<Query>: {query}\n<Document>:"

    def encode(self, pairs: Sequence[tuple[str, str]], *, cut: Side | None) -> list[Encoded]:
        """Prompts of (query, document); a query is tokenised once, however often it occurs.

        Where a prompt is too long the document loses its end ``cut``, and a query of more than
        half the room loses what is beyond that. ``cut`` None: raises `TextTooLongError` instead.
        """
        heads = {query: self._encode_head(query) for query in dict.fromkeys(q for q, _ in pairs)}
        documents = self._tokenizer.encode(
            [f" {document}" for _, document in pairs],
            self._room,
            cut=cut or "right",
            special=False,
        )
        return [
            self._join(index, pair, heads[pair[0]], document, cut)
            for index, (pair, document) in enumerate(zip(pairs, documents, strict=True))
        ]

    def _encode_head(self, query: str) -> Encoded:
        most = max(self._room // 2, len(self._frame) + 1)
        (head,) = self._tokenizer.encode([self._head(query)], most, special=False)
        if not head.cut:
            return head
        spans = self._tokenizer.spans(query)
        last = min(most - len(self._frame), len(spans)) - 1
        kept = query[: int(spans[last, 1])]
        return Encoded(self._ids(self._head(kept))[0], cut=True)

    def _join(
        self, index: int, pair: tuple[str, str], head: Encoded, document: Encoded, cut: Side | None
    ) -> Encoded:
        room = max(0, self._room - len(head))
        was_cut = head.cut or document.cut or len(document) > room
        if was_cut and cut is None:
            raise TextTooLongError(index, self._length(*pair), self._limit)
        ids = document.ids
        kept = ids[max(0, len(ids) - room) :] if cut == "left" else ids[:room]
        return Encoded([*self._prefix, *head.ids, *kept, *self._suffix], cut=was_cut)

    def _length(self, query: str, document: str) -> int:
        texts = [PREFIX, self._head(query), f" {document}", SUFFIX]
        return sum(self._tokenizer.count(texts))
