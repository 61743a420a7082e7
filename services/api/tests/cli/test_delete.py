"""``ragbase delete`` and ``ragbase stats`` against the real API."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import typer
from typer.testing import Result

from ragbase.sdk import Client

Run = Callable[..., Result]


@pytest.fixture
def ids(client: Client, collection: str) -> list[int]:
    """Three documents, of the years 2019 to 2021."""
    return [
        client.documents.create(
            "T", f"text {year}", collection=collection, metadata={"year": year}
        ).id
        for year in (2019, 2020, 2021)
    ]


def years(client: Client, collection: str) -> list[int]:
    return sorted(row.metadata["year"] for row in client.documents.iterate(collection=collection))


def test_documents_go_by_id_and_missing_ones_are_an_error(
    run_live: Run, client: Client, collection: str, ids: list[int]
) -> None:
    first = run_live("delete", str(ids[0]), "--yes")
    assert (first.exit_code, first.stdout) == (0, "1 documents removed\n")
    second = run_live("delete", *map(str, ids[:2]), "--yes", "--json")
    assert second.exit_code == 1
    assert json.loads(second.stdout) == {"deleted": 1, "missing": ids[:1], "dry_run": False}
    assert years(client, collection) == [2021]


def test_a_dry_run_only_counts(
    run_live: Run, client: Client, collection: str, ids: list[int]
) -> None:
    arguments = ("delete", "-c", collection, "--filter", '{"year": {"lt": 2021}}')
    counted = run_live(*arguments, "--dry-run")
    assert counted.exit_code == 0
    assert "2 documents would be removed" in counted.stdout
    assert years(client, collection) == [2019, 2020, 2021]
    assert run_live(*arguments, "-y").exit_code == 0
    assert years(client, collection) == [2021]


@pytest.mark.parametrize("agrees", [True, False])
def test_a_person_is_asked_first(
    run_live: Run,
    client: Client,
    collection: str,
    ids: list[int],
    monkeypatch: pytest.MonkeyPatch,
    agrees: bool,
) -> None:
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return agrees

    monkeypatch.setattr(typer, "confirm", confirm)
    monkeypatch.setattr("ragbase.cli.delete._is_person", lambda: True)
    done = run_live("delete", *map(str, ids))
    assert asked == ["Remove 3 documents for good?"]
    assert done.exit_code == (0 if agrees else 1)
    assert years(client, collection) == ([] if agrees else [2019, 2020, 2021])


def test_without_a_person_to_ask_nothing_is_removed(
    run_live: Run, client: Client, collection: str, ids: list[int]
) -> None:
    done = run_live("delete", str(ids[0]))
    assert done.exit_code == 2
    assert "--yes" in done.stderr
    assert len(years(client, collection)) == 3


@pytest.mark.parametrize("arguments", [(), ("1", "--filter", '{"a": 1}'), ("--filter", "[]")])
def test_what_names_nothing_is_a_usage_error(run_live: Run, arguments: tuple[str, ...]) -> None:
    """B045."""
    assert run_live("delete", "--yes", *arguments).exit_code == 2


def test_an_empty_filter_is_refused(
    run_live: Run, client: Client, collection: str, ids: list[int]
) -> None:
    """B045."""
    done = run_live("delete", "--yes", "-c", collection, "--filter", "{}")
    assert done.exit_code == 1
    assert "every document" in done.stderr
    assert len(years(client, collection)) == 3


def test_stats_lists_collections_with_totals(
    run_live: Run, collection: str, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = run_live("stats")
    assert shown.exit_code == 0, shown.output
    assert collection in shown.stdout
    assert " all " in shown.stdout
    assert "B of tables and indexes" in shown.stdout
    rows = {
        row["name"]: row for row in json.loads(run_live("stats", "--json").stdout)["collections"]
    }
    assert {"default", collection} <= rows.keys()
