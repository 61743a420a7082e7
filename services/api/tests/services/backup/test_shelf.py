"""Which backups a folder holds, which of them go, and what is left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragbase.errors import BackupError
from ragbase.services.backup.manifest import DUMP, FileRecord, Manifest, write_manifest
from ragbase.services.backup.shelf import Entry, Retention, Shelf, resolve

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
CONTENT_SHA = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"  # of "content"


def put(shelf: Shelf, taken: datetime, sha256: str = CONTENT_SHA) -> Path:
    """A backup with a dump of seven bytes."""
    with shelf.growing(taken) as partial:
        (partial / DUMP).write_text("content")
        manifest = Manifest(
            version="0.1.0",
            taken_at=taken,
            seconds=1,
            postgres="18.1",
            pg_dump="18.1",
            extensions={},
            revisions=(),
            dialect=None,
            embedding_models={},
            hash_probe=1,
            tables={},
            files={DUMP: FileRecord(bytes=7, sha256=sha256)},
        )
        write_manifest(partial, manifest)
        return shelf.finish(partial)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (Retention(), [0, 1, 5, 20, 40]),
        (Retention(count=2), [0, 1]),
        (Retention(count=99), [0, 1, 5, 20, 40]),
        (Retention(days=7), [0, 1, 5]),
        (Retention(days=0), [0]),
        (Retention(count=1, days=25), [0, 1, 5, 20]),
        (Retention(count=4, days=2), [0, 1, 5, 20]),
    ],
)
def test_a_backup_goes_when_no_rule_keeps_it(
    shelf: Shelf, rule: Retention, kept: list[int]
) -> None:
    for days in (5, 40, 0, 20, 1):
        put(shelf, ago(days))
    removed = shelf.retain(rule, NOW)
    left = [(NOW - entry.manifest.taken_at).days for entry in shelf.entries() if entry.manifest]
    assert sorted(left) == kept
    assert len(removed) == 5 - len(kept)


def test_the_newest_stays_however_old(shelf: Shelf) -> None:
    old = put(shelf, ago(400))
    assert shelf.retain(Retention(days=7), NOW) == []
    assert [entry.path for entry in shelf.entries()] == [old]


def test_what_is_no_backup_is_left_alone(shelf: Shelf) -> None:
    put(shelf, ago(3))
    put(shelf, ago(2))
    (shelf.root / "notes").mkdir()
    (shelf.root / "20200101.sql").write_text("theirs")
    damaged = put(shelf, ago(1))
    (damaged / "manifest.json").write_text("{}")
    shelf.retain(Retention(count=1), NOW)
    assert sorted(path.name for path in shelf.root.iterdir()) == sorted(
        [".lock", "notes", "20200101.sql", damaged.name, ago(2).strftime("%Y%m%dT%H%M%SZ")]
    )


def test_a_block_that_fails_leaves_nothing(shelf: Shelf) -> None:
    def broken() -> None:
        with shelf.growing(NOW) as partial:
            (partial / DUMP).write_text("half")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        broken()
    assert [path.name for path in shelf.root.iterdir()] == [".lock"]


def test_two_of_one_second_have_two_names(shelf: Shelf) -> None:
    assert [put(shelf, NOW).name, put(shelf, NOW).name] == [
        "20261130T120000Z",
        "20261130T120000Z-2",
    ]


async def test_verify_reads_the_files(shelf: Shelf) -> None:
    good, bad, cut = put(shelf, ago(3)), put(shelf, ago(2), sha256="0" * 64), put(shelf, ago(1))
    (cut / DUMP).write_text("cont")
    assert all(not entry.fault for entry in shelf.entries())
    found = {entry.path: entry.fault for entry in await shelf.verify()}
    assert found[good] == ""
    assert "SHA-256" in found[bad]
    assert "4 bytes" in found[cut]


def test_a_folder_stands_for_its_newest_backup_that_can_be_read(shelf: Shelf) -> None:
    put(shelf, ago(2))
    second = put(shelf, ago(1))
    newest = put(shelf, NOW)
    (newest / "manifest.json").unlink()
    assert resolve(shelf.root) == second
    assert resolve(newest) == newest  # named itself: its fault is then told


def test_a_folder_without_any(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="no folder"):
        shelf.entries()
    with pytest.raises(BackupError, match="holds no backup"):
        resolve(tmp_path)


def test_a_damaged_backup_is_listed_with_its_fault(shelf: Shelf) -> None:
    path = put(shelf, NOW)
    text = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(text.replace('"rows"', '"lines"').replace("18.1", "17.0"))
    (entry,) = shelf.entries()
    assert isinstance(entry, Entry)
    assert entry.manifest is None
    assert "was changed" in entry.fault
