"""The cache: all or nothing, once, and a digest is computed once."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from ragbase_inference.cache import cache_root, file_digest, publish_folder
from ragbase_inference.errors import ModelUnavailableError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAGBASE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_cache: Path) -> None:
    assert cache_root() == own_cache
    assert own_cache.stat().st_mode & 0o777 == 0o700
    monkeypatch.delenv("RAGBASE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "ragbase"


def test_a_cache_that_cannot_be_made_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RAGBASE_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(ModelUnavailableError, match="RAGBASE_CACHE"):
        cache_root()


def test_digest_is_remembered_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    assert file_digest(path) == hashlib.sha256(b"one").hexdigest()
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("hashed twice"))
        assert file_digest(path) == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert file_digest(path) == hashlib.sha256(b"two").hexdigest()


def test_a_failed_fill_leaves_nothing(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise ValueError("boom")

    target = tmp_path / "cache" / "models" / "m"
    with pytest.raises(ValueError, match="boom"):
        publish_folder(target, fill)
    assert list(target.parent.iterdir()) == []


def test_a_full_disk_says_what_to_do(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(ModelUnavailableError, match="No space left"):
        publish_folder(tmp_path / "m", fill)


def test_two_at_once_end_with_one_whole_folder(tmp_path: Path) -> None:
    target, both = tmp_path / "models" / "m", threading.Barrier(2)

    def fill(folder: Path) -> None:
        (folder / "model").write_text("whole")
        both.wait(5)  # neither is published before both have worked

    threads = [threading.Thread(target=publish_folder, args=(target, fill)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in target.parent.iterdir()] == ["m"]
    assert (target / "model").read_text() == "whole"


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    publish_folder(tmp_path / "m", lambda folder: (folder / "a").touch())
    publish_folder(tmp_path / "m", lambda _: pytest.fail("made twice"))
