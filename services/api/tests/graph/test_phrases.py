"""What models make of a query: their answers as phrases, whatever they answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ragbase.clients.ner import NerInfo, NerSpan
from ragbase.errors import UpstreamError
from ragbase.graph.linking import Phrase
from ragbase.graph.phrases import NAMES_MAX, LlmPhrases, NerPhrases
from ragbase.text.prompts import Prompts


class Spans:
    """A `Ner` with a fixed answer; keeps what it was asked."""

    info = NerInfo("fixed")

    def __init__(self, *spans: NerSpan) -> None:
        self._spans = list(spans)
        self.asked: list[tuple[list[str], list[str], float | None]] = []

    async def spans(
        self, texts: Sequence[str], *, labels: Sequence[str] = (), within_s: float | None = None
    ) -> list[list[NerSpan]]:
        self.asked.append((list(texts), list(labels), within_s))
        return [self._spans for _ in texts]

    async def ping(self) -> None:
        """Always well."""

    async def aclose(self) -> None:
        """Holds nothing."""


class Answer:
    """A `Complete` with a fixed answer; keeps what it was asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.asked: list[dict[str, Any]] = []

    async def complete(self, system: str, prompt: str, **options: Any) -> str:
        self.asked.append({"system": system, "prompt": prompt, **options})
        return self._text


async def test_spans_become_phrases_surest_first() -> None:
    ner = Spans(NerSpan(0, 3, "person", 0.5), NerSpan(8, 15, "person", 0.9))
    found = await NerPhrases(ner, 0.25).phrases("Ada and Babbage", ["person"])
    assert found == [Phrase("Babbage", 0.9), Phrase("Ada", 0.5)]
    assert ner.asked == [(["Ada and Babbage"], ["person"], 0.25)]


async def test_a_language_model_is_asked_for_a_list_within_the_budget() -> None:
    llm = Answer('["Ada Lovelace", " Babbage "]')
    found = await LlmPhrases(llm, Prompts.load(), 2.0).phrases("Whom did Ada Lovelace know?")
    assert found == [Phrase("Ada Lovelace"), Phrase("Babbage")]
    (asked,) = llm.asked
    assert "Whom did Ada Lovelace know?" in asked["prompt"]
    assert (asked["purpose"], asked["within_s"]) == ("linking", 2.0)
    assert asked["schema"]["type"] == "array"


async def test_what_is_no_name_is_left_out_and_the_number_is_bounded() -> None:
    llm = Answer(json.dumps(["", "   ", 3, None, "x" * 1000, *(f"Name {n}" for n in range(50))]))
    found = await LlmPhrases(llm, Prompts.load(), 2.0).phrases("q")
    assert [phrase.text for phrase in found] == [f"Name {n}" for n in range(NAMES_MAX)]


async def test_an_answer_that_is_no_list_is_an_error() -> None:
    with pytest.raises(UpstreamError):
        await LlmPhrases(Answer('{"names": []}'), Prompts.load(), 2.0).phrases("q")
