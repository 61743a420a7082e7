"""Which documents are found below a path, and what is read from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbase.cli.errors import UsageError
from ragbase.cli.files import find, sources
from ragbase.sdk.upload import Draft, FileDraft


class Notes(list[tuple[str, str]]):
    """Collects warnings."""

    def __call__(self, name: str, reason: str) -> None:
        self.append((name, reason))


@pytest.fixture
def warn() -> Notes:
    return Notes()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "a.md": "# A title\n\ntext",
        "sub/b.txt": "plain",
        "sub/deep/c.markdown": "no heading",
        "sub/skip.log": "one line",
        "sub/page.HTML": "<p>text",
        ".hidden/d.md": "# hidden",
        ".e.md": "# hidden too",
        "empty.md": " \n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def ids(paths: list[Path], warn: Notes, *globs: str) -> list[str]:
    return [item.external_id for item in find(paths, globs, warn=warn)]


def drafts(paths: list[Path], warn: Notes) -> dict[str, Draft | FileDraft | None]:
    return {source.name: source.load() for source in sources(find(paths, warn=warn))}


def test_folders_are_walked_in_order_without_hidden_entries(tree: Path, warn: Notes) -> None:
    assert ids([tree], warn) == [
        "a.md",
        "empty.md",
        "sub/b.txt",
        "sub/page.HTML",
        "sub/deep/c.markdown",
    ]
    assert warn == []


def test_ids_do_not_depend_on_where_one_stands(
    tree: Path, warn: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    absolute = ids([tree / "sub"], warn)
    monkeypatch.chdir(tree)
    assert ids([Path("sub")], warn) == absolute == ["b.txt", "page.HTML", "deep/c.markdown"]


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["*.md"], ["a.md", "empty.md"]),
        (["**/*.md"], ["a.md", "empty.md"]),
        (["sub/*"], ["sub/b.txt", "sub/page.HTML", "sub/skip.log", "sub/deep/c.markdown"]),
        (["*.log", "a.*"], ["a.md", "sub/skip.log"]),
        (["*.rst"], []),
    ],
)
def test_globs_replace_the_usual_endings(
    tree: Path, warn: Notes, globs: list[str], expected: list[str]
) -> None:
    assert ids([tree], warn, *globs) == expected


def test_a_named_file_is_taken_whatever_its_ending(tree: Path, warn: Notes) -> None:
    assert ids([tree / "sub/skip.log"], warn) == ["skip.log"]


def test_two_documents_of_one_id_are_refused(tree: Path, warn: Notes) -> None:
    other = tree / "other"
    other.mkdir()
    (other / "b.txt").write_text("another")
    with pytest.raises(UsageError, match=r"'b\.txt'"):
        find([tree / "sub", other], warn=warn)


def test_two_lines_of_one_id_are_told_apart_from_two_files(tmp_path: Path, warn: Notes) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "1", "text": "a"}\n{"_id": "1", "text": "b"}\n')
    with pytest.raises(UsageError, match="both are lines of") as caught:
        find([corpus], [], warn=warn)
    assert "_id" in str(caught.value.hint)


def test_a_missing_path_is_a_usage_error(tmp_path: Path, warn: Notes) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        find([tmp_path / "none"], warn=warn)


def test_files_are_left_to_the_server_and_empty_ones_at_home(tree: Path, warn: Notes) -> None:
    (tree / "none.txt").touch()
    found = drafts([tree], warn)
    assert found["sub/page.HTML"] == FileDraft("sub/page.HTML", tree / "sub/page.HTML")
    assert found["none.txt"] is None


def test_jsonl_corpora_give_one_document_a_line(tmp_path: Path, warn: Notes) -> None:
    records = [
        {"_id": "1", "title": "One", "text": "first é", "metadata": {"year": 1}},
        {"_id": 2, "title": "", "text": "a text without any title to it at all"},
        {"_id": "3", "title": "Three", "text": " "},
    ]
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (tmp_path / "corpus.jsonl").write_text("\ufeff" + lines + "\n", encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n')
    assert drafts([tmp_path], warn) == {
        "1": Draft("1", "One", "first é", {"year": 1}),
        "2": Draft("2", "a text without any title to it at", records[1]["text"]),
        "3": None,
    }
    assert [name for name, _ in warn] == ["queries.jsonl"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"title": "t", "text": "x"}', "`_id`"),
        ('{"_id": "a", "title": "t"}', "`text`"),
        ('{"_id": "a", "title": "t", "text": "x", "metadata": []}', None),
        ('{"_id": "a", "title": "t", "text": "x", "metadata": [1]}', "`metadata`"),
        ("[1]", "not a JSON object"),
        ("{oops", "Expecting"),
    ],
)
def test_a_bad_line_fails_alone(tmp_path: Path, warn: Notes, line: str, reason: str | None) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"_id": "ok", "title": "t", "text": "x"}\n' + line + "\n")
    good, bad = sources(find([path], warn=warn))
    assert good.load() == Draft("ok", "t", "x")
    if reason is None:
        assert bad.load() is not None
        return
    with pytest.raises(ValueError, match=reason):
        bad.load()
