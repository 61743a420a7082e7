"""Models that find the names in a query: a NER model, or a language model on request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from ragbase.clients.llm import Complete, JsonSchema
from ragbase.clients.ner import Ner
from ragbase.errors import UpstreamError
from ragbase.graph.linking import Phrase
from ragbase.text.prompts import Prompts

__all__ = ["LlmPhrases", "NerPhrases"]

NAMES_MAX: Final = 20
NAME_CHARS_MAX: Final = 256
_NAMES: Final[JsonSchema] = {"type": "array", "items": {"type": "string"}}


class NerPhrases:
    """A `PhraseFinder` by a model of named entities, such as GLiNER."""

    def __init__(self, ner: Ner, timeout_s: float) -> None:
        self._ner = ner
        self._timeout_s = timeout_s

    async def phrases(self, query: str, labels: Sequence[str] = ()) -> list[Phrase]:
        """See `PhraseFinder.phrases`; models of fixed types ignore ``labels``."""
        (spans,) = await self._ner.spans([query], labels=labels, within_s=self._timeout_s)
        ordered = sorted(spans, key=lambda span: (-span.score, span.start, span.end))
        return [Phrase(query[span.start : span.end], span.score) for span in ordered]


class LlmPhrases:
    """A `PhraseFinder` by a language model: slow, so used only where a request asks for it."""

    def __init__(self, llm: Complete, prompts: Prompts, timeout_s: float) -> None:
        self._llm = llm
        self._prompts = prompts
        self._timeout_s = timeout_s

    async def phrases(self, query: str, labels: Sequence[str] = ()) -> list[Phrase]:  # noqa: ARG002 - it is asked for names of any type
        """See `PhraseFinder.phrases`. At most `NAMES_MAX`; what is no name by its length is left
        out."""
        answer = await self._llm.complete(
            self._prompts.fill("concise"),
            self._prompts.fill("query_entity_extraction", query=query),
            purpose="linking",
            schema=_NAMES,
            within_s=self._timeout_s,
        )
        names = json.loads(answer)
        if not isinstance(names, list):
            raise UpstreamError("The language model gave no list.", code="llm_unusable_answer")
        texts = [name.strip() for name in names if isinstance(name, str)]
        return [Phrase(text) for text in texts if 0 < len(text) <= NAME_CHARS_MAX][:NAMES_MAX]
