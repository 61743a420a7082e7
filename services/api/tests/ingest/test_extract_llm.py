"""Extraction by a language model: each chunk alone, names out of the text, errors told apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from ragbase.clients.llm import Message
from ragbase.errors import (
    DeadlineExceededError,
    LlmInputTooLongError,
    LlmUnavailableError,
    RagBaseError,
    UpstreamError,
)
from ragbase.ingest.extract_llm import LlmExtractor, grounded
from ragbase.models.extraction import (
    ChunkFacts,
    EntityFact,
    ExtractionSource,
    RelationFact,
    SourceChunk,
)

SOURCE = ExtractionSource(
    5, "Harbours", [SourceChunk(number, f"Ship{number} sails.") for number in range(1, 6)], "french"
)


class Model:
    """An `ExtractionModel` that finds the first word of each chunk, but where told otherwise."""

    name = "scripted"
    concurrency = 2

    def __init__(self, fault: Callable[[str], RagBaseError | None] = lambda _: None) -> None:
        self._fault = fault
        self.asked: list[str] = []
        self.system = ""

    async def ask(
        self, system: str, prompt: str, history: Sequence[Message], *, document_id: int
    ) -> str:
        assert document_id == 5
        self.system = system
        text = prompt.rsplit("```\n", 2)[1].rstrip("`\n")
        self.asked.append(text)
        if error := self._fault(text):
            raise error
        entity = {"name": text.split()[0], "type": "Ship", "description": "It sails."}
        return json.dumps({"entities": [entity], "relationships": []})


def unusable(text: str) -> RagBaseError | None:
    return UpstreamError("Half.", code="llm_unusable_answer") if "Ship2" in text else None


async def test_each_chunk_has_its_own_facts_in_order() -> None:
    told: list[tuple[int, int]] = []
    model = Model()
    found = await LlmExtractor(model, lightrag="1").extract(
        SOURCE, lambda done, total: told.append((done, total))
    )
    assert [(one.chunk_id, one.entities[0].name) for one in found.facts] == [
        (number, f"Ship{number}") for number in range(1, 6)
    ]
    assert sorted(told) == [(number, 5) for number in range(1, 6)]
    assert "`French`" in model.system


@pytest.mark.parametrize(
    "error",
    [
        UpstreamError("Half.", code="llm_unusable_answer"),
        LlmInputTooLongError("Too long."),
    ],
)
async def test_a_chunk_that_goes_wrong_takes_no_other_with_it(error: RagBaseError) -> None:
    model = Model(lambda text: error if "Ship2" in text else None)
    found = await LlmExtractor(model, lightrag="1").extract(SOURCE, lambda *_: None)
    assert [len(one.entities) for one in found.facts] == [1, 0, 1, 1, 1]
    assert found.errors == [error]


@pytest.mark.parametrize(
    "error",
    [
        LlmUnavailableError("Away."),
        DeadlineExceededError("Late.", code="llm_timeout"),
        UpstreamError("Wrong key.", code="llm_refused"),
    ],
)
async def test_a_model_that_is_away_is_asked_no_further(error: RagBaseError) -> None:
    model = Model(lambda _: error)
    with pytest.raises(type(error)) as caught:
        await LlmExtractor(model, lightrag="1").extract(SOURCE, lambda *_: None)
    assert caught.value is error
    assert len(model.asked) <= model.concurrency


def test_names_of_which_no_word_stands_in_the_text_are_dropped() -> None:
    """B081: what the text orders the model to say, or the prompt's own examples."""
    facts = ChunkFacts(
        1,
        [EntityFact("Ada Lovelace"), EntityFact("Noah Carter"), EntityFact("Harbours")],
        [RelationFact("Ada Lovelace", "Noah Carter"), RelationFact("ada lovelace", "Harbours")],
    )
    kept = grounded(facts, "Lovelace wrote it.", "Harbours")
    assert [fact.name for fact in kept.entities] == ["Ada Lovelace", "Harbours"]
    assert [(fact.source, fact.target) for fact in kept.relations] == [("ada lovelace", "Harbours")]


def test_names_in_scripts_without_blanks_are_found() -> None:
    facts = ChunkFacts(1, [EntityFact("北京"), EntityFact("上海")])
    assert [one.name for one in grounded(facts, "他住在北京。", "城市").entities] == ["北京"]
