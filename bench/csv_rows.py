"""How rows of a CSV file are found: as blocks of ``header: value`` lines, or as a Markdown table.

Method. A made-up register of ships (six named columns, one of them a sentence) is stored twice, as
`ragbase.ingest.parse.from_csv` gives it and as a table with the same cells. Questions ask for one row by
one or two of its values and the names of columns. A question is answered at k when one of the first k
chunks holds the row; chunks of both ways have other lengths, so the same is counted for the chunks that
fit into equal numbers of characters.

Usage: python -m bench.csv_rows [--rows 400] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from bench.report import Bar, state_folder, write_report
from ragbase.embedded import EmbeddedPostgres
from ragbase.main import create_app
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate
from ragbase.telemetry.logs import configure_logging

HEADER = ("ship", "home port", "draught in metres", "cargo", "captain", "last inspection")
ADJECTIVES = [
    "Silver",
    "Northern",
    "Patient",
    "Crimson",
    "Quiet",
    "Bold",
    "Amber",
    "Hollow",
    "Distant",
    "Iron",
    "Golden",
    "Pale",
]
BIRDS = [
    "Heron",
    "Plover",
    "Gannet",
    "Curlew",
    "Petrel",
    "Osprey",
    "Avocet",
    "Dunlin",
    "Merlin",
    "Siskin",
    "Wheatear",
    "Fulmar",
]
PORTS = [
    "Bergen",
    "Cadiz",
    "Gdansk",
    "Hull",
    "Trieste",
    "Varna",
    "Aarhus",
    "Leith",
    "Brest",
    "Porto",
    "Riga",
    "Malmo",
]
CARGO = [
    "timber",
    "wool",
    "copper ore",
    "machine parts",
    "fresh fruit",
    "cement",
    "grain",
    "fertiliser",
    "paper",
    "fish",
]
NAMES = [
    "Okafor",
    "Lindqvist",
    "Marino",
    "Tanaka",
    "Novak",
    "Duarte",
    "Keller",
    "Haddad",
    "Osei",
    "Petrov",
    "Byrne",
    "Castro",
]
FOUND = [
    "hull sound and no remarks",
    "rust on the rudder stock",
    "lifeboat davits replaced",
    "bilge pump failed its test",
    "fire doors jammed on deck two",
    "anchor chain worn beyond limits",
    "radar recalibrated and accepted",
    "cargo hatch leaked in the hose test",
]
ROUTES = {
    "hybrid": "/v1/search",
    "keyword": "/v1/search/keyword",
    "semantic": "/v1/search/semantic",
}
K = 5
CHARACTERS = 4000
LOSS_MAX = 0.02
"""Blocks show what their values are, and a table's rows do not: that may cost so much."""


def register(count: int) -> list[tuple[str, ...]]:
    """Rows, the same at every run; a ship's number makes its name unique."""
    rng = random.Random(7)
    return [
        (
            f"{rng.choice(ADJECTIVES)} {rng.choice(BIRDS)} {number}",
            rng.choice(PORTS),
            f"{rng.uniform(3, 14):.1f}",
            rng.choice(CARGO),
            f"{rng.choice('ABCDEFGHIJKLM')}. {rng.choice(NAMES)}",
            rng.choice(FOUND),
        )
        for number in range(100, 100 + count)
    ]


def questions(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, list[str]]]:
    """Questions, and the names of the ships that answer them."""
    rng = random.Random(8)
    asked: list[tuple[str, list[str]]] = []
    for row in rng.sample(list(rows), 60):
        ship, port, _, cargo, captain, note = row
        asked += [
            (f"what is the draught of the {ship}", [ship]),
            (f"who is the captain of {ship}", [ship]),
            (
                f"ship from {port} with cargo {cargo} whose captain is {captain}",
                [r[0] for r in rows if (r[1], r[3], r[4]) == (port, cargo, captain)],
            ),
            (
                f"which ship of home port {port} had this at the inspection: {note}",
                [r[0] for r in rows if (r[1], r[5]) == (port, note)],
            ),
        ]
    return asked


def as_csv(rows: Sequence[tuple[str, ...]]) -> bytes:
    """The register as a spreadsheet saves it."""
    file = io.StringIO()
    csv.writer(file).writerows([HEADER, *rows])
    return file.getvalue().encode()


def as_table(rows: Sequence[tuple[str, ...]]) -> bytes:
    """The register as a Markdown table."""
    lines = [HEADER, ("---",) * len(HEADER), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).encode()


async def measure(rows: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """Both ways, in a collection each."""
    found: dict[str, Any] = {}
    asked = questions(rows)
    with state_folder() as folder, EmbeddedPostgres(folder / "postgres") as server:
        await migrate(server.dsn, dialect="native")
        app = create_app(Settings(DATABASE_URL=server.dsn, RAGBASE_AUTH="off"))
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=600) as api,
        ):
            for way, name, data in (
                ("blocks", "ships.csv", as_csv(rows)),
                ("table", "ships.md", as_table(rows)),
            ):
                found[way] = await one_way(api, way, (name, data), asked)
    return found


async def one_way(
    api: httpx.AsyncClient, way: str, file: tuple[str, bytes], asked: list[tuple[str, list[str]]]
) -> dict[str, Any]:
    """Chunks and recalls of one way."""
    (await api.post("/v1/collections", json={"name": way})).raise_for_status()
    fields = {"collection": way, "title": "Ships"}
    answer = await api.post("/v1/documents/upload", files={"file": file}, data=fields)
    answer.raise_for_status()
    stored = answer.json()
    result: dict[str, Any] = {
        "chunks": stored["chunk_count"],
        "characters": round(len(stored["content"]) / stored["chunk_count"]),
    }
    for mode, route in ROUTES.items():
        at_k = at_characters = 0
        for query, ships in asked:
            body = {"query": query, "top_k": 50, "collection": way}
            contents = [
                row["content"] for row in (await api.post(route, json=body)).json()["results"]
            ]
            at_k += holds(contents[:K], ships)
            at_characters += holds(within(contents, CHARACTERS), ships)
        result[f"{mode}@{K}"] = round(at_k / len(asked), 3)
        result[f"{mode}@{CHARACTERS} characters"] = round(at_characters / len(asked), 3)
    return result


def holds(contents: Sequence[str], ships: Sequence[str]) -> bool:
    """Whether one of the rows is there."""
    return any(ship in content for content in contents for ship in ships)


def within(contents: Sequence[str], characters: int) -> list[str]:
    """The first contents that fit, and at least one."""
    kept: list[str] = []
    for content in contents:
        if kept and sum(map(len, kept)) + len(content) > characters:
            break
        kept.append(content)
    return kept


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    configure_logging("warning", "console")
    found = asyncio.run(measure(register(options.rows)))
    columns = list(found["blocks"])
    lines = [
        f"# Rows of a CSV file, {options.rows} rows, {4 * 60} questions",
        "",
        f"| way | {' | '.join(columns)} |",
        f"|{'---|' * (len(columns) + 1)}",
        *(f"| {way} | {' | '.join(str(row[c]) for c in columns)} |" for way, row in found.items()),
    ]
    text = "\n".join(lines)
    print(text)
    column = f"hybrid@{K}"
    least = found["table"][column] - LOSS_MAX
    demands = [
        Bar(f"{column}: blocks against table", found["blocks"][column], least, at_least=True)
    ]
    if options.out is not None:
        write_report(options.out / "csv-rows", found, demands, text)
    return 0 if all(bar.met for bar in demands) else 1


if __name__ == "__main__":
    sys.exit(main())
