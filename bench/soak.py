"""Kills API, worker and Postgres at random while documents come in, then counts what is there.

Method. Postgres (fsync on), the API and a worker run as processes of their own. Eight writers post
documents without pause, each in one of four ways: answered at once or as a job, with an
``external_id`` (then in ever newer versions) or without. A writer believes only the answers it
gets: a call whose connection broke may have happened or not. Meanwhile one of the three, drawn at
random, gets SIGKILL after a random while (Postgres: the postmaster or one backend) and is started
again. At the end the queue must drain by itself, and then:

- every accepted document is there: the last accepted version of an ``external_id`` (or one whose
  call broke later), whether it was answered at once or queued, and each accepted document without
  one exactly once;
- a call that broke left one document or none, never two;
- no document is half: its chunks are numbered without gaps, reach its end, and each has a vector;
- the keyword index equals one derived afresh; no job failed, none is left over.

Usage: python -m bench.soak [--kills 100] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import asyncpg
import httpx

from bench.report import Bar, state_folder, write_report
from bench.server import free_port, start_api, start_ragbase
from ragbase.embedded import EmbeddedPostgres
from ragbase.storage.migrations import migrate

WRITERS = 8
IDS = 5
"""External ids of a writer: each is replaced again and again."""
Target = Literal["api", "worker", "postgres", "backend"]
TARGETS: tuple[Target, ...] = ("api", "worker", "postgres", "backend")
DRAIN_S = 300.0
WORDS = ("quay", "harbour", "ship", "lamp", "keeper", "storm", "tide", "rope", "anchor", "gull")


@dataclass
class Ledger:
    """What the writers know. Titles name documents; versions count from 1."""

    accepted: dict[str, int] = field(default_factory=dict)
    """Newest version of an external id that was acknowledged."""
    unsure: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Newest version whose call broke."""
    once: set[str] = field(default_factory=set)
    """Titles without external id that were acknowledged."""
    broken: set[str] = field(default_factory=set)
    """Titles without external id whose call broke."""
    answers: Counter[str] = field(default_factory=Counter)


class Stack:
    """The three processes, each of which can be killed and is then started again."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            "DATABASE_URL": server.dsn,
            "RAGBASE_WORKERS": "0",
            "RAGBASE_JOB_LEASE": "5",
            "RAGBASE_LOG_LEVEL": "error",
        }
        self.api, _ = start_api(self.environment, self.port)
        self.worker = self._start_worker()

    def _start_worker(self) -> subprocess.Popen[bytes]:
        return start_ragbase("worker", environment=self.environment)

    def kill(self, target: Target) -> None:
        """SIGKILL, then a start; returns when the process is there again."""
        if target == "api":
            self.api.kill()
            self.api.wait()
            self.api, _ = start_api(self.environment, self.port, wait_s=120)
        elif target == "worker":
            self.worker.kill()
            self.worker.wait()
            self.worker = self._start_worker()
        else:
            self._kill_postgres(backend=target == "backend")

    def _kill_postgres(self, *, backend: bool) -> None:
        """A killed backend makes the postmaster restart all of them; a killed postmaster is gone."""
        postmaster = int((self.server.data_dir / "postmaster.pid").read_text().split()[0])
        victims = _client_backends(postmaster) if backend else [postmaster]
        if victims:
            os.kill(random.choice(victims), signal.SIGKILL)
        if not backend:
            while self.server.running:
                time.sleep(0.01)
            self.server.start()

    def stop(self) -> None:
        """End what is left, orderly."""
        for process in (self.api, self.worker):
            process.terminate()
        for process in (self.api, self.worker):
            process.wait(60)


def _client_backends(postmaster: int) -> list[int]:
    """Processes of the server that serve a client; their title names the database."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if not folder.name.isdigit():
                continue
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            title = (folder / "cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == postmaster and " ragbase ragbase " in title:
            found.append(int(folder.name))
    return found


def text_of(random_: random.Random, title: str) -> str:
    """Some paragraphs that begin and end with the title: a half document shows."""
    paragraphs = [" ".join(random_.choices(WORDS, k=random_.randint(5, 300))) for _ in range(4)]
    return "\n\n".join([title, *paragraphs, f"End of {title}"])


async def write(number: int, url: str, ledger: Ledger, stopped: asyncio.Event) -> None:
    """One writer, until ``stopped``."""
    random_ = random.Random(number)
    count = 0
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        while not stopped.is_set():
            count += 1
            headers = {"Prefer": "respond-async"} if random_.random() < 0.5 else {}
            if random_.random() < 0.6:
                await _post_version(
                    client, random_, f"w{number}-{count % IDS}", count, headers, ledger
                )
            else:
                await _post_once(client, random_, f"once-{number}-{count}", headers, ledger)


async def _post_version(
    client: httpx.AsyncClient,
    random_: random.Random,
    external_id: str,
    version: int,
    headers: dict[str, str],
    ledger: Ledger,
) -> None:
    title = f"{external_id} version {version}"
    body = {
        "title": title,
        "content": text_of(random_, title),
        "external_id": external_id,
        "metadata": {"version": version},
    }
    accepted = await _send(client, body, headers, ledger)
    if accepted:
        ledger.accepted[external_id] = version
    elif accepted is None:
        ledger.unsure[external_id] = version


async def _post_once(
    client: httpx.AsyncClient,
    random_: random.Random,
    title: str,
    headers: dict[str, str],
    ledger: Ledger,
) -> None:
    body = {"title": title, "content": text_of(random_, title)}
    accepted = await _send(client, body, headers, ledger)
    if accepted:
        ledger.once.add(title)
    elif accepted is None:
        ledger.broken.add(title)


async def _send(
    client: httpx.AsyncClient, body: dict[str, Any], headers: dict[str, str], ledger: Ledger
) -> bool | None:
    """True: acknowledged. False: refused. None: nobody knows."""
    try:
        answer = await client.post("/v1/documents", json=body, headers=headers)
    except httpx.ConnectError:
        ledger.answers["not connected"] += 1
        await asyncio.sleep(0.1)
        return False
    except httpx.TransportError:
        ledger.answers["broken"] += 1
        return None
    ledger.answers[str(answer.status_code)] += 1
    if answer.status_code in (200, 201, 202):
        return True
    if answer.status_code in (429, 503):
        await asyncio.sleep(0.1)
        # A commit whose acknowledgement was lost looks like a database that is down.
        return None if answer.status_code == 503 else False
    raise RuntimeError(f"{answer.status_code}: {answer.text[:300]}")


async def kill_loop(stack: Stack, kills: int, note: Callable[[str], None]) -> Counter[str]:
    """Kill, start, wait a little; ``kills`` times."""
    done: Counter[str] = Counter()
    for number in range(kills):
        await asyncio.sleep(random.uniform(0.2, 2.5))
        target = random.choice(TARGETS)
        await asyncio.to_thread(stack.kill, target)
        done[target] += 1
        note(f"{number + 1}/{kills} {target}")
    return done


async def drained(dsn: str) -> float:
    """Seconds until no job waits or runs; infinite when the queue does not drain."""
    started = time.monotonic()
    while time.monotonic() - started < DRAIN_S:
        try:
            connection = await asyncpg.connect(dsn)
        except (OSError, asyncpg.PostgresError):
            await asyncio.sleep(0.5)
            continue
        try:
            left = await connection.fetchval(
                "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"
            )
        finally:
            await connection.close()
        if not left:
            return time.monotonic() - started
        await asyncio.sleep(0.5)
    return float("inf")


_HALF = """
    SELECT count(*) FROM documents d
    LEFT JOIN LATERAL (
        SELECT count(*) AS chunks, min(c.chunk_index) AS first, max(c.chunk_index) AS last,
            max(c.end_offset) AS reach,
            count(*) FILTER (WHERE NOT EXISTS (
                SELECT FROM embeddings e WHERE e.chunk_id = c.id)) AS bare
        FROM chunks c WHERE c.document_id = d.id
    ) k ON true
    WHERE k.chunks = 0 OR k.first <> 0 OR k.last <> k.chunks - 1
        OR k.reach <> length(d.content) OR k.bare > 0
        OR d.content NOT LIKE d.title || '%End of ' || d.title
"""
_POSTINGS = """
    WITH fresh AS (
        SELECT t.term_key, c.id AS chunk_id, t.tf, t.dl
        FROM chunks c CROSS JOIN LATERAL lexical_terms(c.lexical_text, c.collection_id) t
    )
    SELECT (SELECT count(*) FROM (TABLE fresh EXCEPT ALL TABLE postings) a)
        + (SELECT count(*) FROM (TABLE postings EXCEPT ALL TABLE fresh) b)
"""
_STATISTICS = """
    SELECT abs(coalesce((SELECT sum(chunks) FROM lexical_statistics), 0)
        - (SELECT count(*) FROM chunks))
"""


async def audit(dsn: str, ledger: Ledger) -> dict[str, int]:
    """Faults by kind, each counted."""
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch(
            "SELECT external_id, title, (metadata->>'version')::int AS version FROM documents"
        )
        faults = {
            "half documents": await connection.fetchval(_HALF),
            "postings that differ": await connection.fetchval(_POSTINGS),
            "statistics that differ": int(await connection.fetchval(_STATISTICS)),
            "failed jobs": await connection.fetchval(
                "SELECT count(*) FROM jobs WHERE state = 'failed'"
            ),
        }
    finally:
        await connection.close()
    titles = Counter(row["title"] for row in rows if row["external_id"] is None)
    versions = {row["external_id"]: row["version"] for row in rows if row["external_id"]}
    identified = [row["external_id"] for row in rows if row["external_id"]]
    faults["accepted and lost"] = sum(titles[title] == 0 for title in ledger.once) + sum(
        external_id not in versions for external_id in ledger.accepted
    )
    faults["duplicates"] = sum(count > 1 for count in titles.values()) + (
        len(identified) - len(set(identified))
    )
    faults["older versions left"] = versions_behind(versions, ledger)
    faults["never sent"] = len(set(titles) - ledger.once - ledger.broken)
    return faults


def versions_behind(rows: dict[str, int], ledger: Ledger) -> int:
    """External ids whose stored version is neither the last accepted nor a later unsure one."""
    return sum(
        not (version <= rows.get(external_id, 0) <= max(version, ledger.unsure[external_id]))
        for external_id, version in ledger.accepted.items()
    )


async def soak(server: EmbeddedPostgres, kills: int) -> dict[str, Any]:
    """The whole run."""
    await migrate(server.dsn, dialect="native")
    stack = await asyncio.to_thread(Stack, server)
    ledger, stopped = Ledger(), asyncio.Event()
    started = time.monotonic()
    try:
        async with asyncio.TaskGroup() as tasks:
            for number in range(WRITERS):
                tasks.create_task(write(number, stack.url, ledger, stopped))
            done = await kill_loop(stack, kills, lambda text: print(text, flush=True))
            stopped.set()
        drain_s = await drained(server.dsn)
        faults = await audit(server.dsn, ledger)
    finally:
        await asyncio.to_thread(stack.stop)
    return {
        "kills": dict(done),
        "seconds": time.monotonic() - started,
        "drain_s": drain_s,
        "answers": dict(ledger.answers),
        "accepted": len(ledger.once) + len(ledger.accepted),
        "unsure": len(ledger.broken) + len(ledger.unsure),
        "faults": faults,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with state_folder() as place, EmbeddedPostgres(place / "pg") as server:
        report = asyncio.run(soak(server, arguments.kills))
    bars = [Bar(name, count, 0) for name, count in report["faults"].items()]
    bars.append(Bar("seconds until the queue was empty", report["drain_s"], DRAIN_S))
    text = "\n".join(
        ["# Soak", "", "| what | |", "|---|---|"]
        + [f"| {name} | {value} |" for name, value in report.items()]
    )
    print(text)
    if arguments.out:
        write_report(arguments.out / "soak", report, bars, text)
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
