"""Kept answers: found by key, gone with their document, expired when nobody asks."""

from __future__ import annotations

import pytest

from ragbase.models.domain import DocumentDraft
from ragbase.storage.collections import get_collection
from ragbase.storage.documents import delete_document, insert_document
from ragbase.storage.extractions import bind_answers, expire_answers, keep_answer, read_answers
from ragbase.storage.pool import Connection

ONE, TWO = b"1" * 32, b"2" * 32


async def _document(connection: Connection) -> int:
    collection = await get_collection(connection, "default")
    assert collection is not None
    draft = DocumentDraft("T", "text", {}, collection.id)
    return (await insert_document(connection, draft, [], None, None)).id


async def test_an_answer_is_found_by_its_key_and_the_first_one_stays(
    connection: Connection,
) -> None:
    await keep_answer(connection, ONE, "contextual", {"line": "a"})
    await keep_answer(connection, ONE, "contextual", {"line": "b"})
    assert await read_answers(connection, [ONE, TWO]) == {ONE: {"line": "a"}}


async def test_answers_go_with_the_document_they_are_bound_to(connection: Connection) -> None:
    document = await _document(connection)
    await keep_answer(connection, ONE, "contextual", {"line": "a"}, document)
    await keep_answer(connection, TWO, "contextual", {"line": "b"})
    await bind_answers(connection, [ONE, TWO], document)
    await delete_document(connection, document)
    assert await read_answers(connection, [ONE, TWO]) == {}


async def test_an_answer_for_a_document_that_is_gone_is_not_kept(connection: Connection) -> None:
    document = await _document(connection)
    await delete_document(connection, document)
    await keep_answer(connection, ONE, "contextual", {"line": "a"}, document)
    assert await read_answers(connection, [ONE]) == {}


@pytest.mark.parametrize(("kept_s", "left"), [(0.0, set()), (3600.0, {ONE})])
async def test_answers_expire(connection: Connection, kept_s: float, left: set[bytes]) -> None:
    await keep_answer(connection, ONE, "contextual", {"line": "a"})
    await expire_answers(connection, kept_s=kept_s)
    assert set(await read_answers(connection, [ONE])) == left
