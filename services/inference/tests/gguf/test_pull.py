"""A model's file comes whole or not at all, goes on where it stopped, and is what it should be."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest
from filelock import FileLock

from ragbase_inference.gguf.errors import (
    UnknownModelError,
    UnusableFileError,
    WrongKindOfFileError,
)
from ragbase_inference.gguf.folder import GgufFolder
from ragbase_inference.gguf.pull import PullError, pull
from ragbase_inference.gguf.sources import Source, parse_source
from ragbase_inference.gguf.stored import remove, stored_models

from .gguf_bytes import BERT, LLAMA, RANKER, head

MODEL = head(BERT) + bytes(range(256)) * 4096
SUM = hashlib.sha256(MODEL).hexdigest()
PATH = "/owner/repository/resolve/main/model.gguf"


class Hub(ThreadingHTTPServer):
    """A hub's server of one file: ranges, sums, redirects, and answers that break off."""

    daemon_threads = True
    data = MODEL
    tag = '"one"'
    linked: str | None = SUM
    ranges = True
    redirect: str | None = None
    status = 200
    break_after: list[int]
    """Bytes after which an answer ends; one number a request, then none does."""
    asked: list[tuple[str, str, str | None, str | None]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        hub = self._hub()
        if hub.redirect and self.path == PATH:
            self.send_response(302)
            self.send_header("Location", hub.redirect)
            if hub.linked:
                self.send_header("X-Linked-ETag", f'"{hub.linked}"')
            self._end(0)
            return
        self.send_response(hub.status)
        if hub.linked and not hub.redirect:
            self.send_header("X-Linked-ETag", f'"{hub.linked}"')
        self.send_header("ETag", hub.tag)
        self._end(len(hub.data))

    def do_GET(self) -> None:
        hub = self._hub()
        data, start = hub.data, 0
        asked = self.headers["Range"]
        if asked and hub.ranges and self.headers["If-Range"] == hub.tag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self._end(len(data) - start)
        sent = data[start:]
        if hub.break_after:
            sent = sent[: hub.break_after.pop(0)]
            self.close_connection = True
        self.wfile.write(sent)

    def _hub(self) -> Hub:
        hub = cast("Hub", self.server)
        hub.asked.append(
            (self.command, self.path, self.headers["Range"], self.headers["Authorization"])
        )
        return hub

    def _end(self, length: int) -> None:
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing: the tests tell what matters."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub(("127.0.0.1", 0), Handler) as hub:
        hub.asked, hub.break_after = [], []
        thread = threading.Thread(target=hub.serve_forever, args=(0.01,))
        thread.start()
        yield hub
        hub.shutdown()
        thread.join()


@pytest.fixture
def source(hub: Hub) -> Source:
    return parse_source("owner/repository:model.gguf", hub=f"http://127.0.0.1:{hub.server_port}")


@pytest.fixture
def folder(tmp_path: Path) -> GgufFolder:
    return GgufFolder(tmp_path / "models")


def gets(hub: Hub) -> list[str | None]:
    """Ranges that were asked for."""
    return [asked for method, _, asked, _ in hub.asked if method == "GET"]


def left_over(folder: GgufFolder) -> list[str]:
    """Files beside the folders. A lock that was held in vain may stay: it is empty."""
    return sorted(
        path.name for path in folder.root.iterdir() if path.is_file() and path.suffix != ".lock"
    )


def test_a_file_comes_to_the_folder_of_its_kind_with_its_sum(
    hub: Hub, source: Source, folder: GgufFolder
) -> None:
    told: list[tuple[int, int | None]] = []
    pulled = pull(source, folder, progress=lambda done, size: told.append((done, size)))
    assert pulled.file.path == folder.root / "embedding" / "model.gguf"
    assert pulled.file.path.read_bytes() == MODEL
    assert (pulled.sha256, pulled.verified, pulled.fetched) == (SUM, True, len(MODEL))
    assert told[-1] == (len(MODEL), len(MODEL))
    assert (folder.root / "embedding" / "model.gguf.sha256").read_text() == f"{SUM}  model.gguf\n"
    assert left_over(folder) == []
    (stored,) = stored_models(folder, check=True)
    assert (stored.architecture, stored.problem, stored.check) == ("bert", "", "ok")


def test_a_file_that_is_there_is_not_fetched_again(
    hub: Hub, source: Source, folder: GgufFolder
) -> None:
    pull(source, folder)
    again = pull(source, folder)
    assert again.fetched == 0
    assert len(gets(hub)) == 1


def test_a_break_is_taken_up_where_it_was(hub: Hub, source: Source, folder: GgufFolder) -> None:
    hub.break_after = [300_000, 200_000]
    pulled = pull(source, folder)
    assert gets(hub) == [None, "bytes=300000-", "bytes=500000-"]
    assert pulled.file.path.read_bytes() == MODEL


def test_a_later_call_goes_on_too(hub: Hub, source: Source, folder: GgufFolder) -> None:
    hub.break_after = [100_000, 0, 0, 0, 0]
    with pytest.raises(PullError, match="cannot be fetched"):
        pull(source, folder)
    assert folder.files() == [], "nothing half is listed"
    assert pull(source, folder).fetched == len(MODEL) - 100_000
    assert gets(hub)[-1] == "bytes=100000-"


def test_a_file_that_changed_meanwhile_is_begun_anew(
    hub: Hub, source: Source, folder: GgufFolder
) -> None:
    hub.break_after = [100_000, 0, 0, 0, 0]
    with pytest.raises(PullError):
        pull(source, folder)
    hub.data = head(RANKER) + b"other" * 50_000
    hub.linked = hashlib.sha256(hub.data).hexdigest()
    hub.tag = '"two"'
    assert pull(source, folder).file.path.read_bytes() == hub.data
    assert gets(hub)[-1] is None


def test_a_server_without_ranges_sends_all_again(
    hub: Hub, source: Source, folder: GgufFolder
) -> None:
    hub.ranges = False
    hub.break_after = [100_000]
    assert pull(source, folder).file.path.read_bytes() == MODEL


@pytest.mark.parametrize("given", [True, False])
def test_a_wrong_sum_leaves_nothing_and_keeps_what_was(
    hub: Hub, source: Source, folder: GgufFolder, given: bool
) -> None:
    before = pull(source, folder)
    hub.data = MODEL[:-1] + b"!"
    hub.tag = '"two"'
    hub.linked = None if given else "0" * 64
    with pytest.raises(PullError, match="sum"):
        pull(source, folder, sha256="1" * 64 if given else None)
    assert left_over(folder) == []
    assert before.file.path.read_bytes() == MODEL


def test_a_sum_other_than_the_hubs_is_told_before_anything_is_fetched(
    hub: Hub, source: Source, folder: GgufFolder
) -> None:
    with pytest.raises(PullError, match="has the sum"):
        pull(source, folder, sha256="1" * 64)
    assert gets(hub) == []


def test_without_a_known_sum_the_file_is_taken_and_that_is_told(
    hub: Hub, source: Source, folder: GgufFolder
) -> None:
    hub.linked = None
    pulled = pull(source, folder)
    assert (pulled.verified, pulled.sha256) == (False, SUM)


def test_what_is_no_model_or_of_another_kind_is_refused(
    hub: Hub, source: Source, folder: GgufFolder
) -> None:
    with pytest.raises(WrongKindOfFileError, match="embedding"):
        pull(source, folder, kind="chat")
    hub.data = b"<html>not found</html>"
    hub.linked = None
    with pytest.raises(UnusableFileError):
        pull(source, folder)
    assert left_over(folder) == []
    assert folder.files() == []


def test_the_key_is_for_the_hub_alone(hub: Hub, source: Source, folder: GgufFolder) -> None:
    """Hubs redirect to stores of other hosts; what is a host's name there is a port here."""
    with Hub(("127.0.0.1", 0), Handler) as store:
        store.asked, store.break_after = [], []
        thread = threading.Thread(target=store.serve_forever, args=(0.01,))
        thread.start()
        hub.redirect = f"http://127.0.0.1:{store.server_port}/blob"
        pull(source, folder, hub_key="secret")
        store.shutdown()
        thread.join()
    assert {key for *_, key in hub.asked} == {"Bearer secret"}
    assert {(path, key) for _, path, _, key in store.asked} == {("/blob", None)}


def test_the_key_is_not_sent_to_any_address(hub: Hub, folder: GgufFolder) -> None:
    plain = parse_source(f"http://127.0.0.1:{hub.server_port}{PATH}")
    pull(plain, folder, hub_key="secret")
    assert {key for *_, key in hub.asked} == {None}


def test_a_redirect_to_an_address_without_encryption_is_not_followed(
    hub: Hub, source: Source, folder: GgufFolder
) -> None:
    hub.redirect = "http://models.example/blob"
    with pytest.raises(PullError, match="https"):
        pull(source, folder)


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "HF_TOKEN"), (404, "no such file"), (500, "500")]
)
def test_refusals_say_what_to_do(
    hub: Hub, source: Source, folder: GgufFolder, status: int, hint: str
) -> None:
    hub.status = status
    with pytest.raises(PullError, match=hint):
        pull(source, folder)


def test_two_do_not_fetch_the_same_model_at_once(source: Source, folder: GgufFolder) -> None:
    folder.create()
    lock = folder.root / ".model.gguf.lock"
    with FileLock(lock), pytest.raises(PullError, match="another process"):
        pull(source, folder)
    pull(source, folder)
    assert not lock.exists()


def test_a_server_that_is_away_is_told(folder: GgufFolder) -> None:
    with pytest.raises(PullError, match="cannot be fetched"):
        pull(parse_source("http://127.0.0.1:1/model.gguf"), folder)


def test_removing_takes_the_sum_along(source: Source, folder: GgufFolder) -> None:
    pull(source, folder)
    assert remove(folder, "model.gguf").kind == "embedding"
    assert list((folder.root / "embedding").iterdir()) == []
    with pytest.raises(UnknownModelError):
        remove(folder, "model")


def test_a_name_in_two_folders_is_not_guessed(folder: GgufFolder) -> None:
    folder.create()
    (folder.root / "chat" / "model.gguf").write_bytes(head(LLAMA))
    (folder.root / "embedding" / "model.gguf").write_bytes(head(LLAMA))
    with pytest.raises(UnknownModelError, match="chat and embedding"):
        remove(folder, "model")
    remove(folder, "model", "chat")
    (stored,) = stored_models(folder, check=True)
    assert stored.problem == "it is of the kind chat"
    assert stored.check == "unknown"


def test_bytes_that_changed_are_noticed(source: Source, folder: GgufFolder) -> None:
    path = pull(source, folder).file.path
    path.write_bytes(MODEL + b"!")
    (stored,) = stored_models(folder, check=True)
    assert stored.check == "changed"


@pytest.mark.parametrize(
    ("text", "url", "name"),
    [
        ("o/r:m.gguf", "https://huggingface.co/o/r/resolve/main/m.gguf", "m"),
        ("o/r@v1/x:a/m.Q4.gguf", "https://huggingface.co/o/r/resolve/v1%2Fx/a/m.Q4.gguf", "m.Q4"),
        ("https://a.example/x/m.gguf?download=1", "https://a.example/x/m.gguf?download=1", "m"),
        ("http://localhost:80/m.gguf", "http://localhost:80/m.gguf", "m"),
        ("http://[::1]/m.gguf", "http://[::1]/m.gguf", "m"),
    ],
)
def test_sources_are_read(text: str, url: str, name: str) -> None:
    found = parse_source(text)
    assert (found.url, found.name) == (url, name)


@pytest.mark.parametrize(
    "text",
    [
        "m.gguf",
        "o/r",
        "o/r:../m.gguf",
        "o/r:m.bin",
        "http://a.example/m.gguf",
        "file:///etc/passwd",
        "https://user:secret@a.example/m.gguf",
        "https://a.example/",
        "https://a.example/%2e%2e%2fm.gguf",
        "http://localhost.example/m.gguf",
    ],
)
def test_what_is_no_source_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"https|name|address"):
        parse_source(text)
