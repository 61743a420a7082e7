"""The language model as extraction asks it: answers checked, and kept by hash with the document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from ragbase.clients.llm import Message
from ragbase.errors import DatabaseUnavailableError, UpstreamError
from ragbase.ingest.lightrag import SCHEMA
from ragbase.services.llm import LanguageModels
from ragbase.storage.extractions import keep_answer, read_answers
from ragbase.storage.pool import Database
from ragbase.telemetry.logs import get_logger

__all__ = ["KeptExtractionModel"]

PURPOSE: Final = "extraction"
_KEY_BYTES: Final = 32

_log = get_logger("ragbase.extraction")


class KeptExtractionModel:
    """An `ExtractionModel`; the same question is asked once while its answer is kept."""

    def __init__(self, database: Database, llms: LanguageModels, *, kept: bool) -> None:
        self._database = database
        self._llms = llms
        self._kept = kept

    @property
    def name(self) -> str:
        """See `ExtractionModel.name`."""
        return self._llms.model_name(PURPOSE)

    @property
    def concurrency(self) -> int:
        """See `ExtractionModel.concurrency`."""
        return self._llms.concurrency(PURPOSE)

    async def ask(
        self, system: str, prompt: str, history: Sequence[Message], *, document_id: int
    ) -> str:
        """See `ExtractionModel.ask`. Raises as `Complete.complete`; also where the answer is JSON
        of another form than was asked for.
        """
        key = self._key(system, prompt, history)
        if self._kept:
            async with self._database.read() as connection:
                found = await read_answers(connection, [key])
            if key in found:
                return str(found[key]["text"])
        answer = await self._llms.complete(
            system, prompt, purpose=PURPOSE, schema=SCHEMA, history=history
        )
        text = _checked(answer)
        if self._kept:
            await self._keep(key, text, document_id)
        return text

    async def _keep(self, key: bytes, text: str, document_id: int) -> None:
        try:
            async with self._database.acquire() as connection:
                await keep_answer(connection, key, PURPOSE, {"text": text}, document_id)
        except DatabaseUnavailableError as error:  # who stores the facts will meet it too
            _log.warning("extraction_not_kept", code=error.code)

    def _key(self, system: str, prompt: str, history: Sequence[Message]) -> bytes:
        """A hash of all that the answer depends on."""
        hasher = blake2b(digest_size=_KEY_BYTES)
        turns = [part for message in history for part in (message.role, message.content)]
        for part in (PURPOSE, self.name, system, prompt, *turns):
            encoded = part.encode(errors="replace")
            hasher.update(len(encoded).to_bytes(8, "big") + encoded)
        return hasher.digest()


def _checked(answer: str) -> str:
    """The answer, if it has the lists that it must have."""
    try:
        value = json.loads(answer)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("entities"), list):
        raise UpstreamError(
            "The language model's answer is no list of entities.", code="llm_unusable_answer"
        )
    return answer
