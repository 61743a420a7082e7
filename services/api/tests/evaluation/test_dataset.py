"""Reading judged datasets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragbase.errors import InvalidInputError
from ragbase.evaluation.dataset import load_dataset

CORPUS = [
    {"_id": "d1", "title": "One", "text": "first text", "metadata": {"year": 1}},
    {"_id": "blank", "title": "Blank", "text": "  \n "},
    {"_id": 2, "text": "no title"},
]
QUERIES = [
    {"_id": "q1", "text": "first", "metadata": {"family": "exact"}},
    {"_id": "q2", "text": "second"},
    {"_id": "unjudged", "text": "third"},
    {"_id": "q3", "text": "fourth", "metadata": {"family": "exact"}},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\t2\t1\nunjudged\td1\t0\nq3\tblank\t1\n"

Writer = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes a dataset's files and returns their folder."""

    def lines(records: list[Any]) -> str:
        return "".join(json.dumps(record) + "\n" for record in records)

    def write(corpus: Any = CORPUS, queries: Any = QUERIES, qrels: str = QRELS) -> Path:
        texts = {"corpus.jsonl": corpus, "queries.jsonl": queries, "qrels.tsv": qrels}
        for name, content in texts.items():
            text = content if isinstance(content, str) else lines(content)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_reads_documents_queries_and_judgements(write: Writer) -> None:
    dataset = load_dataset(write())
    assert [(doc.id, doc.title, doc.text) for doc in dataset.documents] == [
        ("d1", "One", "first text"),
        ("2", "", "no title"),
    ]
    assert dataset.documents[0].metadata == {"year": 1}
    assert dataset.qrels["q1"] == {"d1": 2}
    assert dataset.families == ("exact",)


def test_blank_documents_and_unjudged_queries_are_skipped_and_counted(write: Writer) -> None:
    dataset = load_dataset(write())
    assert dataset.blank_documents == 1
    assert dataset.unjudged_queries == 1
    assert [query.id for query in dataset.queries] == ["q1", "q2", "q3"]


def test_splits_go_by_the_line_from_zero(write: Writer) -> None:
    """The unjudged query takes up line 2, so q3 is on line 3 and odd."""
    dataset = load_dataset(write())
    assert [query.line for query in dataset.queries] == [0, 1, 3]
    assert [query.id for query in dataset.select("even")] == ["q1"]
    assert [query.id for query in dataset.select("odd")] == ["q2", "q3"]
    assert [query.id for query in dataset.select("all")] == ["q1", "q2", "q3"]


def test_byte_order_marks_and_crlf_do_no_harm(write: Writer) -> None:
    folder = write()
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        path = folder / name
        text = path.read_text(encoding="utf-8").replace("\n", "\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_dataset(folder).qrels["q1"] == {"d1": 2}


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("corpus", '{"_id": "a", "text": "x"}\n{oops\n', "corpus.jsonl, line 2: not JSON"),
        ("corpus", '["a"]\n', "corpus.jsonl, line 1: not a JSON object"),
        ("corpus", '{"text": "x"}\n', "corpus.jsonl, line 1: `_id` is missing"),
        ("corpus", '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n', "twice"),
        ("queries", '{"_id": "q1", "text": ""}\n', "queries.jsonl, line 1: `text`"),
        ("qrels", "h\nq1\td1\n", "qrels.tsv, line 2: expected"),
        ("qrels", "h\nq1\td1\thigh\n", "qrels.tsv, line 2: expected"),
        ("qrels", "query-id\tcorpus-id\tscore\n", "0 judged queries"),
    ],
)
def test_faults_name_file_and_line(write: Writer, part: str, content: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_dataset(write(**{part: content}))
    assert message in caught.value.message
    assert caught.value.code == "invalid_dataset"


def test_a_folder_without_the_files_says_which_are_missing(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text("{}")
    with pytest.raises(InvalidInputError, match=r"queries\.jsonl, qrels\.tsv not found"):
        load_dataset(tmp_path)
