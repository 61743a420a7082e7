"""Commands against the real API on a real Postgres with the default model."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from ragbase.sdk import Client

from ..sample_files import docx, pdf, word_body

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/harbour.md").write_text("# Harbour rules\n\nShips moor at the north quay.")
    (tmp_path / "rules/nights.txt").write_text("Lamps are lit at dusk by the keeper.")
    (tmp_path / "empty.txt").write_text("\n")
    return tmp_path


def test_ingest_stores_and_a_second_run_costs_nothing(
    run_live: Run, client: Client, collection: str, folder: Path
) -> None:
    first = run_live("ingest", str(folder), "--collection", collection)
    assert first.exit_code == 0, first.output
    assert "2 documents" in first.stdout
    assert "2 new, 1 empty, skipped" in first.stdout
    stored = {row.external_id: row for row in client.documents.iterate(collection=collection)}
    assert {name: row.title for name, row in stored.items()} == {
        "rules/harbour.md": "Harbour rules",
        "rules/nights.txt": "nights",
    }
    second = run_live("ingest", str(folder), "--collection", collection)
    assert "2 unchanged, 1 empty, skipped" in second.stdout
    again = {row.external_id: row for row in client.documents.iterate(collection=collection)}
    assert again == stored


def test_ingest_replaces_what_has_changed(run_live: Run, collection: str, folder: Path) -> None:
    run_live("ingest", str(folder), "-c", collection)
    (folder / "rules/nights.txt").write_text("The lamps are electric now.")
    (folder / "new.txt").write_text("A new one.")
    result = run_live("ingest", str(folder), "-c", collection, "--json")
    report = json.loads(result.stdout)
    assert {name: report[name] for name in ("created", "replaced", "unchanged", "blank")} == {
        "created": 1,
        "replaced": 1,
        "unchanged": 1,
        "blank": 1,
    }


def test_failed_documents_are_listed_and_the_rest_is_stored(
    run_live: Run, client: Client, collection: str, folder: Path
) -> None:
    (folder / "binary.txt").write_bytes(b"a\0b")
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    (folder / "c.jsonl").write_text('{"_id": "s", "title": "t", "text": "lone \\ud800"}\n')
    result = run_live("ingest", str(folder), "-c", collection)
    assert result.exit_code == 1
    assert "3 new, 1 empty, skipped, 2 failed" in result.stdout
    assert "✗ binary.txt  This is a binary file (it has NUL bytes)." in result.stderr
    assert "✗ s  " in result.stderr
    assert "! latin.txt  Not UTF-8" in result.stderr
    names = {row.external_id for row in client.documents.iterate(collection=collection)}
    assert names == {"rules/harbour.md", "rules/nights.txt", "latin.txt"}


def test_ingest_takes_files_of_all_kinds(
    run_live: Run, client: Client, collection: str, tmp_path: Path
) -> None:
    files = {
        "r/rules.pdf": pdf(["Ships moor."], info={"Title": "Rules"}),
        "r/fees.DOCX": docx(word_body("# Fees", "Ten a night.")),
        "page.html": b"<title>Quay</title><p>North",
        "ships.csv": b"ship,depth\nAnn,3\n",
        "scan.pdf": pdf([]),
        "picture.png": b"\x89PNG",
    }
    for name, data in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    first = run_live("ingest", str(tmp_path), "-c", collection)
    assert "4 new, 1 failed" in first.stdout
    assert "✗ scan.pdf  file: The PDF has no text on any page" in first.stderr
    stored = {row.external_id: row.title for row in client.documents.iterate(collection=collection)}
    assert stored == {
        "r/rules.pdf": "Rules",
        "r/fees.DOCX": "fees",
        "page.html": "Quay",
        "ships.csv": "ships",
    }
    again = run_live("ingest", str(tmp_path), "-c", collection)
    assert "4 unchanged, 1 failed" in again.stdout


def test_ingest_makes_a_collection_only_when_told(
    run_live: Run, client: Client, folder: Path
) -> None:
    name = f"t-{uuid.uuid4().hex[:12]}"
    refused = run_live("ingest", str(folder), "-c", name)
    assert refused.exit_code == 1
    assert "--create" in refused.stderr
    made = run_live("ingest", str(folder), "-c", name, "--create", "--language", "german")
    assert made.exit_code == 0, made.output
    assert client.collections.get(name).language == "german"
    assert client.collections.get(name).documents == 2
    client.collections.delete(name)


def test_search_shows_rows_and_their_arms(run_live: Run, collection: str, folder: Path) -> None:
    run_live("ingest", str(folder), "-c", collection)
    result = run_live("search", "where do ships moor", "-c", collection)
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert "Harbour rules" in first
    assert "semantic" in first
    assert "keyword" in first
    assert "rules/harbour.md · chunk 0" in result.stdout
    assert re.search(r"hybrid \(semantic, keyword\) · [0-9.]+ ms", result.stdout)


def test_search_modes_filter_explain_and_json(
    run_live: Run, client: Client, collection: str
) -> None:
    for year in (1, 2):
        client.documents.create(
            "Tides", f"The tide of {year}", metadata={"year": year}, collection=collection
        )

    def search(*options: str) -> dict[str, Any]:
        result = run_live("search", "tide", "-c", collection, "--json", *options)
        assert result.exit_code == 0, result.output
        body: dict[str, Any] = json.loads(result.stdout)
        return body

    assert search("--mode", "keyword")["score_kind"] == "bm25"
    assert search("--mode", "semantic")["score_kind"] == "cosine"
    assert search("-k", "1")["total"] == 1
    filtered = search("--filter", '{"year": {"gt": 1}}')
    assert [row["metadata"] for row in filtered["results"]] == [{"year": 2}]
    assert search("--explain")["results"][0]["explain"]["fused"]["rank"] == 1


def test_the_servers_refusal_is_a_line(run_live: Run) -> None:
    result = run_live("search", "x", "--filter", '{"a": {"like": 1}}')
    assert result.exit_code == 1
    assert "filter.a" in result.stderr
    assert "(422 invalid_filter)" in result.stderr
    assert "Traceback" not in result.output


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Two documents, four queries; the third line has no judgement, the last finds nothing."""
    corpus = [
        {"_id": "moor", "title": "Harbour", "text": "# Mooring\n\nShips lie at the north quay."},
        {"_id": "lamp", "title": "", "text": "Lamps are lit at dusk by the keeper."},
        {"_id": "blank", "title": "Blank", "text": " "},
    ]
    queries = [
        {"_id": "q0", "text": "mooring", "metadata": {"family": "header-path"}},
        {"_id": "q1", "text": "lamps at dusk", "metadata": {"family": "exact"}},
        {"_id": "q2", "text": "unjudged"},
        {"_id": "q3", "text": "xylophone", "metadata": {"family": "exact"}},
    ]
    folder = tmp_path / "tiny"
    folder.mkdir()
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    qrels = "query-id\tcorpus-id\tscore\nq0\tmoor\t1\nq1\tlamp\t1\nq3\tlamp\t1\n"
    (folder / "qrels.tsv").write_text(qrels)
    return folder


def test_eval_scores_every_mode_and_cleans_up(
    run_live: Run, client: Client, dataset: Path, tmp_path: Path
) -> None:
    before = [row.name for row in client.collections.list()]
    out = tmp_path / "report.json"
    result = run_live("eval", str(dataset), "--out", str(out))
    assert result.exit_code == 0, result.output
    assert [row.name for row in client.collections.list()] == before
    for words in ("All queries (3)", "Even lines of queries.jsonl (1)", "by family", "1 blank"):
        assert words in result.stdout
    report = json.loads(out.read_text())
    assert report["dataset"]["blank_documents_skipped"] == 1
    assert report["dataset"]["unjudged_queries_skipped"] == 1
    modes = {mode["mode"]: mode for mode in report["modes"]}
    assert list(modes) == ["keyword", "semantic", "hybrid"]
    keyword = modes["keyword"]["splits"]
    assert keyword["all"]["measures"]["hit@1"] == pytest.approx(2 / 3, abs=1e-4)
    assert keyword["even"]["measures"]["hit@1"] == 1
    assert keyword["odd"]["measures"]["hit@1"] == 0.5
    assert keyword["all"]["families"]["exact"]["queries"] == 2
    assert modes["hybrid"]["latency_ms"]["calls"] == 3


def test_eval_shows_what_headings_are_worth(run_live: Run, dataset: Path) -> None:
    report = json.loads(run_live("eval", str(dataset), "--json").stdout)
    bare = report["header_ablation"]["keyword"]["splits"]["all"]
    assert bare["queries"] == 1
    assert bare["measures"]["hit@1"] == 0


def test_eval_of_one_split_asks_its_lines_only(run_live: Run, dataset: Path) -> None:
    result = run_live("eval", str(dataset), "--split", "odd", "--json")
    report = json.loads(result.stdout)
    assert set(report["modes"][0]["splits"]) == {"odd"}
    assert report["modes"][0]["latency_ms"]["calls"] == 2
    assert report["header_ablation"] == {}


def test_eval_uses_and_leaves_a_named_collection(
    run_live: Run, client: Client, collection: str, dataset: Path
) -> None:
    first = json.loads(run_live("eval", str(dataset), "-c", collection, "--json").stdout)
    second = json.loads(run_live("eval", str(dataset), "-c", collection, "--json").stdout)
    assert first["ingest"]["created"] == 2
    assert second["ingest"]["unchanged"] == 2
    assert client.collections.get(collection).documents == 2


def test_eval_passes_the_fusion_on(run_live: Run, dataset: Path) -> None:
    alone = '{"method": "weighted", "weights": {"keyword": 1}}'
    report = json.loads(run_live("eval", str(dataset), "--fusion", alone, "--json").stdout)
    modes = {mode["mode"]: mode["splits"]["all"]["measures"] for mode in report["modes"]}
    assert modes["hybrid"] == modes["keyword"]
    refused = run_live("eval", str(dataset), "--fusion", '{"method": "guess"}', "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["modes"][2]["failed"] == 3


def test_bench_times_every_mode_and_the_floor(run_live: Run, dataset: Path) -> None:
    result = run_live("bench", str(dataset), "-n", "4", "--concurrency", "2", "--format", "json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert [entry["mode"] for entry in report["runs"]] == ["floor", "hybrid", "keyword", "semantic"]
    hybrid = report["runs"][1]
    assert hybrid["latency_ms"]["calls"] == 4
    assert hybrid["stages_ms"]["total"]["p50"] > 0
    assert hybrid["stages_ms"]["total"]["p50"] <= hybrid["latency_ms"]["p50"]


def test_bench_prints_a_table(run_live: Run, dataset: Path) -> None:
    result = run_live("bench", str(dataset), "-n", "2", "--concurrency", "1", "--mode", "keyword")
    assert result.exit_code == 0, result.output
    assert "floor" in result.stdout
    assert "lexical" in result.stdout
    assert "graph" not in result.stdout
