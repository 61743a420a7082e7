"""Hostile files: each ends as an error with a code, and the next file is read as if nothing was."""

from __future__ import annotations

import asyncio
import io
import signal
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragbase.errors import (
    InvalidInputError,
    RagBaseError,
    UnavailableError,
    UnsupportedMediaTypeError,
)
from ragbase.ingest.parse.launch import ForkServer, FreshProcesses
from ragbase.ingest.parse.parsed import ParsedFile
from ragbase.ingest.parse.parser import FileParser, ParseLimits

from ...sample_files import docx, pdf, word_body
from .conftest import Read

MIB = 1024 * 1024
CELLS = b"<table>" + (b"<tr>" + b"<td>c" * 10) * 100_000 + b"</table>"
"""A million cells of a table."""


def children(server: ForkServer) -> list[psutil.Process]:
    assert server.process_id is not None
    return psutil.Process(server.process_id).children(recursive=True)


async def started(server: ForkServer, reading: asyncio.Task[ParsedFile]) -> psutil.Process:
    """The process that reads; there is no other."""
    await until(lambda: reading.done() or len(children(server)) == 1)
    return children(server)[0]


async def outcome(reading: Awaitable[ParsedFile]) -> ParsedFile | RagBaseError:
    try:
        return await reading
    except RagBaseError as error:
        return error


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - what other processes do sets no event here
            await asyncio.sleep(0.01)


async def refused(reading: Awaitable[object]) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        await reading
    return caught.value


async def test_a_million_cells_end_at_the_time_limit(read: Read) -> None:
    error = await refused(read(CELLS, "a.html", timeout_s=0.5, memory_bytes=4096 * MIB))
    assert (error.code, error.field) == ("parse_timeout", "file")
    assert "RAGBASE_PARSE_TIMEOUT" in error.message
    assert (await read(b"fine", "a.txt")).content == "fine"


async def test_a_million_cells_end_at_the_memory_limit(read: Read) -> None:
    error = await refused(read(CELLS, "a.html", memory_bytes=256 * MIB))
    assert error.code == "parse_memory"
    assert "RAGBASE_PARSE_MEMORY_BYTES" in error.message


@pytest.mark.parametrize(
    "html",
    [
        b"<div>" * 20_000 + b"deep",
        b"<b>" * 20_000 + b"deep",
        b"<ul><li>" * 10_000 + b"deep",
        b"<table><tr><td>" * 5_000 + b"deep",
        b"<blockquote>" * 20_000 + b"deep" + b"</blockquote>" * 20_000,
    ],
    ids=["div", "b", "li", "td", "blockquote"],
)
async def test_nesting_out_of_all_reason_keeps_its_text(read: Read, html: bytes) -> None:
    assert (await read(html, "a.html")).content.strip("|->: \n") == "deep"


async def test_a_zip_bomb_is_not_unpacked(read: Read) -> None:
    bomb = docx(word_body("x"), {"word/styles.xml": b"<x>" + b" " * (80 * MIB)})
    assert len(bomb) < MIB
    error = await refused(read(bomb, "a.docx", memory_bytes=256 * MIB))
    assert error.code == "file_unreadable"
    assert "unpacks" in error.message


async def test_a_directory_that_lies_about_sizes_gains_nothing(read: Read) -> None:
    bomb = bytearray(docx(word_body("x"), {"word/styles.xml": b"<x>" + b" " * (80 * MIB)}))
    size = (80 * MIB + 3).to_bytes(4, "little")
    while (place := bomb.find(size)) >= 0:
        bomb[place : place + 4] = (1000).to_bytes(4, "little")
    assert (await refused(read(bytes(bomb), "a.docx"))).code == "file_unreadable"


async def test_entities_in_xml_are_refused(read: Read) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    body = f'<!DOCTYPE d [<!ENTITY l0 "ha">{laughs}]>' + word_body("&l9;")
    for encoded in (body.encode(), body.encode("utf-16")):
        error = await refused(read(docx("", {"word/document.xml": encoded}), "a.docx"))
        assert error.code == "file_unreadable"
        assert "entities" in error.message


async def test_deep_xml_is_refused(read: Read) -> None:
    deep = word_body("x").replace("<w:p>", "<w:sdt><w:sdtContent>" * 20_000 + "<w:p>")
    deep = deep.replace("</w:p>", "</w:p>" + "</w:sdtContent></w:sdt>" * 20_000)
    assert (await refused(read(docx(deep), "a.docx"))).code == "file_unreadable"


async def test_an_archive_that_is_no_document_is_told_so(read: Read) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    for name in ("a.docx", "a.xlsx", "a.txt"):
        with pytest.raises(UnsupportedMediaTypeError, match="archive"):
            await read(file.getvalue(), name)


async def test_a_password_is_asked_to_be_removed(read: Read) -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000)
    locked = ole + "EncryptedPackage".encode("utf-16-le")
    assert (await refused(read(locked, "a.docx"))).code == "encrypted"
    assert (await refused(read(pdf(["x"], locked=True), "a.pdf"))).code == "encrypted"
    with pytest.raises(UnsupportedMediaTypeError, match="old Word file"):
        await read(ole, "a.docx")


@pytest.mark.parametrize("name", ["a.pdf", "a.docx"])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.95])
async def test_a_truncated_file_is_unreadable_or_read_in_part(
    read: Read, name: str, share: float
) -> None:
    whole = pdf(["Ships moor."] * 30) if name == "a.pdf" else docx(word_body("Ships moor."))
    found = await outcome(read(whole[: int(share * len(whole))] or b"%PDF-", name))
    if isinstance(found, RagBaseError):
        assert found.code in ("file_unreadable", "no_text", "unsupported_media_type")
    else:
        assert "Ships moor." in found.content


async def test_a_process_that_crashes_is_the_files_fault(read: Read, processes: ForkServer) -> None:
    await until(lambda: not children(processes))
    reading = asyncio.create_task(read(CELLS, "a.html"))
    process = await started(processes, reading)
    process.send_signal(signal.SIGSEGV)
    error = await refused(reading)
    assert error.code == "file_unreadable"
    await until(lambda: not psutil.pid_exists(process.pid))  # reaped: no zombie is left
    assert (await read(b"fine", "a.txt")).content == "fine"


async def test_one_killed_for_memory_is_told_so(read: Read, processes: ForkServer) -> None:
    """The kernel kills the parser first when the machine has no memory left."""
    await until(lambda: not children(processes))
    reading = asyncio.create_task(read(CELLS, "a.html"))
    (await started(processes, reading)).kill()
    assert (await refused(reading)).code == "parse_memory"


async def test_cancelling_ends_the_process(read: Read, processes: ForkServer) -> None:
    reading = asyncio.create_task(read(CELLS, "a.html"))
    await until(lambda: bool(children(processes)))
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await until(lambda: not children(processes))


async def test_no_more_are_read_at_once_than_allowed_and_none_waits_for_ever(
    processes: ForkServer,
) -> None:
    parser = FileParser(ParseLimits(5_000_000, timeout_s=0.5, parallel=2), processes)
    reading = [
        asyncio.create_task(parser.parse(io.BytesIO(CELLS), len(CELLS), "a.html")) for _ in range(5)
    ]
    most = 0
    while not all(task.done() for task in reading):
        most = max(most, len(children(processes)))
        await asyncio.sleep(0.02)
    assert most == 2
    ends = await asyncio.gather(*reading, return_exceptions=True)
    codes = Counter(getattr(end, "code", end) for end in ends)
    assert set(codes) <= {"parse_timeout", "overloaded"}
    assert codes["parse_timeout"] >= 2
    assert codes["overloaded"] >= 1  # the fifth would have waited for two others


async def test_the_processes_know_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:secret@h/d")
    own = ForkServer()
    parser = FileParser(ParseLimits(1000), own)
    await parser.parse(io.BytesIO(b"x"), 1, "a.txt")
    assert own.process_id is not None
    process = psutil.Process(own.process_id)
    assert "secret" not in str(process.environ())
    assert process.environ().keys() <= {"LD_LIBRARY_PATH", "LC_CTYPE"}
    await parser.aclose()
    assert not psutil.pid_exists(process.pid)


async def test_a_server_that_was_killed_is_started_again() -> None:
    own = ForkServer()
    parser = FileParser(ParseLimits(1000), own)
    await parser.parse(io.BytesIO(b"x"), 1, "a.txt")
    assert own.process_id is not None
    killed = psutil.Process(own.process_id)
    killed.kill()
    await until(lambda: killed.status() == psutil.STATUS_ZOMBIE)
    _, parsed = await parser.parse(io.BytesIO(b"again"), 5, "a.txt")
    assert parsed.content == "again"
    assert not psutil.pid_exists(killed.pid)
    await parser.aclose()


async def test_a_server_killed_while_it_reads_is_unavailable_not_the_files_fault() -> None:
    own = ForkServer()
    parser = FileParser(ParseLimits(1000), own)
    reading = asyncio.create_task(parser.parse(io.BytesIO(CELLS), len(CELLS), "a.html"))
    await until(lambda: own.process_id is not None and bool(children(own)))
    (child,) = children(own)
    psutil.Process(own.process_id).kill()
    child.kill()
    with pytest.raises(UnavailableError):
        await reading
    await parser.aclose()


async def test_where_nothing_can_be_forked_a_fresh_process_does_the_same() -> None:
    parser = FileParser(ParseLimits(1000, timeout_s=5), FreshProcesses())
    _, parsed = await parser.parse(io.BytesIO(b"# T\n\ntext"), 9, "a.md")
    assert (parsed.title, parsed.content) == ("T", "# T\n\ntext")
    error = await refused(parser.parse(io.BytesIO(b"%PDF-x"), 6, "a.pdf"))
    assert error.code == "file_unreadable"
    await parser.aclose()


async def test_a_large_file_goes_through_piece_by_piece(read: Read) -> None:
    text = "Ships moor. " * 400_000
    assert (await read(text.encode(), "a.txt")).content == text


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    data=st.one_of(
        st.binary(min_size=1, max_size=300),
        st.builds(
            lambda whole, place, noise: whole[:place] + noise + whole[place + len(noise) :],
            st.sampled_from([pdf(["Ships moor."]), docx(word_body("# T", "a | b", "text"))]),
            st.integers(0, 1500),
            st.binary(max_size=40),
        ),
        st.text(min_size=1).map(
            lambda text: f"<p>{text}<table><td>{text}".encode("utf-8", "replace")
        ),
    ),
    name=st.sampled_from(["a.txt", "a.md", "a.html", "a.csv", "a.pdf", "a.docx", "a"]),
)
async def test_any_bytes_are_a_text_or_an_error_with_a_code(
    read: Read, data: bytes, name: str
) -> None:
    found = await outcome(read(data, name))
    if isinstance(found, RagBaseError):
        assert found.status in (413, 415, 422), found.message
        assert found.code != "invalid_input"
    else:
        assert "\0" not in found.content
        found.content.encode()
