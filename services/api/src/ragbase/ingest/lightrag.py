"""LightRAG's extraction of entities and relations, the one function that we use of it.

Only this file imports LightRAG. Its version is pinned, because the function is none of its public
interface; ``tests/ingest/test_lightrag.py`` says what we rely on. Of its three answers' forms we ask
for JSON: delimiters that stand in a text cannot be taken for structure then. Its storage, its cache
and its retries are not used. Source: github.com/HKUDS/LightRAG, ``lightrag/operate.py``.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Final, Protocol

from ragbase.clients.llm import Message
from ragbase.errors import RagBaseError, UpstreamError
from ragbase.models.extraction import ChunkFacts, EntityFact, RelationFact, SourceChunk

__all__ = ["SCHEMA", "Ask", "extract_chunk", "installed", "lightrag_version"]

_TEXT: Final = {"type": "string"}
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["entities", "relationships"],
    "properties": {
        "entities": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "type", "description"],
                "properties": {"name": _TEXT, "type": _TEXT, "description": _TEXT},
            },
        },
        "relationships": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["source", "target", "keywords", "description"],
                "properties": {
                    "source": _TEXT,
                    "target": _TEXT,
                    "keywords": _TEXT,
                    "description": _TEXT,
                },
            },
        },
    },
}
"""Of the answer that its prompt asks for."""
MAX_RECORDS: Final = 100
MAX_ENTITIES: Final = 40
"""Of one answer; LightRAG's own defaults."""
_FENCE: Final = "```"


class Ask(Protocol):
    """Asks the language model; the answer is a JSON object as `SCHEMA` says, as text."""

    async def __call__(self, system: str, prompt: str, history: Sequence[Message]) -> str: ...


def installed() -> bool:
    """Whether the extra ``lightrag`` is there."""
    return importlib.util.find_spec("lightrag") is not None


def lightrag_version() -> str:
    """Of what is installed."""
    return version("lightrag-hku")


async def extract_chunk(
    chunk: SourceChunk, ask: Ask, *, language: str = "English", gleaning: int = 0
) -> ChunkFacts:
    """What the model finds in one chunk; ``gleaning`` 1 asks once more for what it missed.

    Raises what ``ask`` raises.
    """
    extract = await asyncio.to_thread(_function)
    key = str(chunk.id)
    failure: list[RagBaseError] = []

    async def answer(
        prompt: str,
        system_prompt: str | None = None,
        history_messages: Sequence[Mapping[str, str]] | None = None,
        **_: Any,
    ) -> str:
        history = [_message(one) for one in history_messages or ()]
        try:
            return await ask(system_prompt or "", prompt, history)
        except RagBaseError as error:  # LightRAG wraps it in another of its class, or fails to
            failure.append(error)
            raise UpstreamError(error.message) from error

    texts = {key: {"content": _unfenced(chunk.content), "tokens": 0, "chunk_order_index": 0}}
    settings = {
        "role_llm_funcs": {"extract": answer},
        "entity_extract_max_gleaning": gleaning,
        "entity_extract_max_records": MAX_RECORDS,
        "entity_extract_max_entities": MAX_ENTITIES,
        "entity_extraction_use_json": True,
        "addon_params": {"language": language},
        "llm_model_max_async": 1,
    }
    try:
        [(nodes, edges)] = await extract(texts, settings)
    except Exception:
        if failure:
            raise failure[0] from None
        raise
    return ChunkFacts(chunk.id, _entities(nodes), _relations(edges))


def _entities(nodes: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[EntityFact, ...]:
    return tuple(
        EntityFact(str(one["entity_name"]), str(one["entity_type"]), str(one["description"]))
        for found in nodes.values()
        for one in found
    )


def _relations(
    edges: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]],
) -> tuple[RelationFact, ...]:
    return tuple(
        RelationFact(
            str(one["src_id"]),
            str(one["tgt_id"]),
            str(one["keywords"]),
            str(one["description"]),
            float(one["weight"]),
        )
        for found in edges.values()
        for one in found
    )


def _message(raw: Mapping[str, str]) -> Message:
    return Message("assistant" if raw["role"] == "assistant" else "user", raw["content"])


def _unfenced(text: str) -> str:
    """The prompt puts the text into a code fence, which nothing in it may close."""
    return text.replace(_FENCE, "'''")


@cache
def _function() -> Any:
    """`lightrag.operate.extract_entities`; the first call takes seconds.

    LightRAG reads ``.env`` of the current folder into the environment when it is imported, and logs
    names out of the texts; it is kept from both.
    """
    before = os.environ.copy()
    from lightrag import operate

    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    logging.getLogger("lightrag").setLevel(logging.CRITICAL + 1)
    return operate.extract_entities
