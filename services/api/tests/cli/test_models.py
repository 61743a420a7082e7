"""`ragbase models` against a server of this machine, on a folder of its own."""

from __future__ import annotations

import hashlib
import json
import struct
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ragbase.cli.app import app
from ragbase.cli.checks import Check
from ragbase.cli.checks_gguf import check_gguf
from ragbase.settings import Settings


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


MODEL = (
    b"GGUF"
    + struct.pack("<IQQ", 3, 0, 4)
    + text("general.architecture")
    + struct.pack("<I", 8)
    + text("bert")
    + number("bert.context_length", 512)
    + number("bert.embedding_length", 384)
    + number("bert.pooling_type", 1)
    + bytes(100_000)
)
SUM = hashlib.sha256(MODEL).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "mini.gguf").write_bytes(MODEL)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mini.gguf"
        server.shutdown()
        thread.join()


class Models:
    """The command, on one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str, **env: str) -> Result:
        return CliRunner().invoke(
            app, ["models", *arguments], env={"LOCALRAG_MODELS_DIR": str(self.folder), **env}
        )


@pytest.fixture
def models(tmp_path: Path) -> Models:
    return Models(tmp_path / "models")


def test_a_model_is_pulled_listed_checked_and_removed(models: Models, url: str) -> None:
    pulled = models("pull", url, "--sha256", SUM)
    assert pulled.exit_code == 0, pulled.output
    assert "embedding model mini" in pulled.stdout
    assert pulled.stderr == "", "the sum was compared"
    (row,) = json.loads(models("list", "--check", "--json").stdout)
    assert row == {
        "name": "mini",
        "kind": "embedding",
        "bytes": len(MODEL),
        "architecture": "bert",
        "problem": "",
        "check": "ok",
    }
    assert "mini" in models("list").stdout
    assert "there already" in models("pull", url, "--sha256", SUM).stdout
    removed = models("rm", "mini.gguf")
    assert (removed.exit_code, "embedding" in removed.stdout) == (0, True)
    assert json.loads(models("list", "--json").stdout) == []


def test_a_sum_that_nobody_told_is_told(models: Models, url: str) -> None:
    pulled = models("pull", url, "--name", "other", "--json")
    assert pulled.exit_code == 0, pulled.output
    answer = json.loads(pulled.stdout)
    assert (answer["name"], answer["verified"], answer["sha256"]) == ("other", False, SUM)
    assert "No sum was known" in pulled.stderr


def test_a_file_of_a_hub_is_found_by_its_repository(models: Models, url: str) -> None:
    """HF_ENDPOINT names the hub; this one has no such path, and says so."""
    hub = url.rpartition("/")[0]
    pulled = models("pull", "owner/repository:mini.gguf", HF_ENDPOINT=hub)
    assert pulled.exit_code == 1
    assert "/owner/repository/resolve/main/mini.gguf" in "".join(pulled.stderr.split())
    assert "404" in pulled.stderr


def test_bytes_that_changed_end_with_1(models: Models, url: str) -> None:
    models("pull", url)
    path = models.folder / "embedding" / "mini.gguf"
    path.write_bytes(path.read_bytes() + b"!")
    checked = models("list", "--check")
    assert (checked.exit_code, "mini" in checked.stderr) == (1, True)
    assert models("list").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("pull", "nothing"), 2, "neither an https address"),
        (("pull", "http://models.example/m.gguf"), 2, "https"),
        (("pull", "URL", "--sha256", "0" * 64), 1, "sum"),
        (("pull", "URL", "--kind", "chat"), 2, "kind embedding"),
        (("pull", "URL", "--kind", "pictures"), 2, "pictures"),
        (("rm", "nothing"), 1, "no model"),
        (("rm", "../served/mini"), 1, "no model"),
    ],
)
def test_what_cannot_be_done_ends_with_a_line(
    models: Models, url: str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    given = [url if argument == "URL" else argument for argument in arguments]
    result = models(*given)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.stderr.split())
    assert json.loads(models("list", "--json").stdout) == []


def gguf_check(folder: Path) -> Check:
    return check_gguf(Settings(localrag_models_dir=folder))  # type: ignore[call-arg]


def test_doctor_tells_which_files_cannot_be_used(models: Models, url: str) -> None:
    assert gguf_check(models.folder).state == "ok"
    assert "served models" in gguf_check(models.folder).found
    models("pull", url)
    assert gguf_check(models.folder) == Check("GGUF models", "ok", "1, run by llama.cpp")
    (models.folder / "chat").mkdir(exist_ok=True)
    (models.folder / "chat" / "wrong.gguf").write_bytes(MODEL)
    (models.folder / "chat" / "text.gguf").write_bytes(b"no model")
    found = gguf_check(models.folder)
    assert found.state == "warning"
    assert found.found == "text: this is no GGUF file; wrong: it is of the kind embedding"


def test_doctor_tells_where_llama_cpp_is_missing(
    models: Models, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models("pull", url)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = gguf_check(models.folder)
    assert (found.state, "not installed" in found.found) == ("warning", True)
