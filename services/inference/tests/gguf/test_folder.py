"""Names come from the listing alone: nothing else on the disk can be reached by one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragbase_inference.gguf.errors import UnknownModelError
from ragbase_inference.gguf.folder import GgufFolder

from .gguf_bytes import BERT, LLAMA, write_gguf


@pytest.fixture
def folder(tmp_path: Path) -> GgufFolder:
    write_gguf(tmp_path / "secret.gguf", BERT)
    write_gguf(tmp_path / "models" / "embedding" / "b.gguf", BERT)
    write_gguf(tmp_path / "models" / "embedding" / "a.gguf", BERT)
    write_gguf(tmp_path / "models" / "chat" / "a.gguf", LLAMA)
    return GgufFolder(tmp_path / "models")


def names(folder: GgufFolder) -> list[tuple[str, str]]:
    return [(file.kind, file.name) for file in folder.files()]


def test_files_are_listed_by_folder_and_name(folder: GgufFolder) -> None:
    (folder.root / "embedding" / "notes.txt").write_text("no model")
    (folder.root / "embedding" / "half.gguf.part").write_bytes(b"")
    (folder.root / "embedding" / ".hidden.gguf").write_bytes(b"")
    (folder.root / "embedding" / "folder.gguf").mkdir()
    assert names(folder) == [("chat", "a"), ("embedding", "a"), ("embedding", "b")]


def test_folders_that_are_missing_count_as_empty(tmp_path: Path) -> None:
    folder = GgufFolder(tmp_path / "none")
    assert folder.files() == []
    folder.create()
    assert sorted(path.name for path in folder.root.iterdir()) == ["chat", "embedding", "reranker"]


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_that_leads_nowhere_is_not_listed(folder: GgufFolder) -> None:
    (folder.root / "chat" / "gone.gguf").symlink_to(folder.root / "nothing")
    assert ("chat", "gone") not in names(folder)


@pytest.mark.skipif(os.name != "posix", reason="names of bytes")
def test_a_name_that_is_no_text_is_not_listed(folder: GgufFolder) -> None:
    """One such file made every listing fail."""
    try:
        (folder.root / "chat" / os.fsdecode(b"b\xffd.gguf")).write_bytes(b"GGUF")
    except OSError:
        pytest.skip("this file system takes no such name")
    assert names(folder) == [("chat", "a"), ("embedding", "a"), ("embedding", "b")]


def test_both_forms_of_a_name_find_the_file(folder: GgufFolder) -> None:
    """L18."""
    assert folder.find("b", "embedding") == folder.find("b.gguf", "embedding")


@pytest.mark.parametrize(
    "name",
    ["../secret", "../../secret", "../chat/a", "embedding/a", "/etc/passwd", "", ".", "a\0", "*"],
)
def test_names_are_never_paths(folder: GgufFolder, name: str) -> None:
    """L21."""
    with pytest.raises(UnknownModelError) as caught:
        folder.find(name, "embedding")
    assert str(folder.root) not in str(caught.value)


def test_a_model_of_another_folder_is_not_found(folder: GgufFolder) -> None:
    with pytest.raises(UnknownModelError):
        folder.find("b", "chat")


def test_a_model_in_several_files_is_one(folder: GgufFolder) -> None:
    for part in (1, 2, 3):
        path = folder.root / "chat" / f"big-0000{part}-of-00003.gguf"
        path.write_bytes(b"x" * part)
    (found,) = [file for file in folder.files() if file.name.startswith("big")]
    assert found.name == "big-00001-of-00003"
    assert found.bytes == 6


def test_a_version_tells_a_replaced_file_and_one_written_over(folder: GgufFolder) -> None:
    path = folder.root / "embedding" / "a.gguf"

    def version() -> str:
        return folder.find("a", "embedding").version

    first = version()
    assert first == version() != folder.find("b", "embedding").version
    other = folder.root / "other"
    other.write_bytes(path.read_bytes())
    stat = path.stat()
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(path)  # the same bytes, size and time
    second = version()
    assert second != first
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert version() not in (first, second)


def test_a_version_is_of_all_parts(folder: GgufFolder) -> None:
    for part in (1, 2):
        write_gguf(folder.root / "chat" / f"big-0000{part}-of-00002.gguf", LLAMA)
    first = folder.find("big-00001-of-00002", "chat").version
    with (folder.root / "chat" / "big-00002-of-00002.gguf").open("ab") as file:
        file.write(b"x")
    assert folder.find("big-00001-of-00002", "chat").version != first
