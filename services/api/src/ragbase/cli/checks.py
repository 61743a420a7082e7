"""The checks of ``ragbase doctor``; each looks, changes nothing, and says what to do next."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragbase.cli.ports import holder_of
from ragbase.errors import RagBaseError

if TYPE_CHECKING:
    from ragbase.clients.select_reranker import SelectedReranker
    from ragbase.settings import Settings

__all__ = ["Check", "run_checks"]

UP_PORT = 5050
GIB = 1024**3
DISK_WARNING = 2 * GIB
DISK_FAILURE = GIB // 4
"""Postgres stops with an error when its disk is full; this is too little to begin with."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: what was found and, where it is not fine, what to do."""

    name: str
    state: Literal["ok", "warning", "failed"]
    found: str
    hint: str = ""


def run_checks(settings: Settings, *, port: int | None, home: Path | None) -> list[Check]:
    """All checks, in the order in which a start would meet their subjects."""
    from ragbase.cli.checks_gguf import check_gguf  # it needs `Check`

    folder = home or settings.home
    own_postgres = not settings.database_url.get_secret_value()
    checks = [_python(), _folder(folder), _disk(folder)]
    checks += [_bundled_postgres()] if own_postgres else asyncio.run(_database(settings))
    checks.append(asyncio.run(_model(settings)))
    checks += asyncio.run(_rerankers(settings))
    checks += asyncio.run(_llms(settings))
    if settings.localrag_enabled:
        checks.append(check_gguf(settings))
    checks.append(_port(settings, port))
    return checks


def _python() -> Check:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("Python", "ok", found)


def _folder(folder: Path) -> Check:
    nearest = _nearest_existing(folder)
    if not nearest.is_dir():
        hint = "Choose another with --home or RAGBASE_HOME."
        return Check("State folder", "failed", f"{nearest} is no folder", hint)
    if not os.access(nearest, os.W_OK | os.X_OK):
        hint = "Choose a folder you own with --home or RAGBASE_HOME."
        return Check("State folder", "failed", f"{nearest} cannot be written to", hint)
    return Check("State folder", "ok", f"{folder}" if folder.exists() else f"{folder} (new)")


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(_nearest_existing(folder)).free
    found = f"{free / GIB:.1f} GiB free"
    if free < DISK_FAILURE:
        return Check("Disk", "failed", found, "Make room, or choose another disk with --home.")
    if free < DISK_WARNING:
        return Check("Disk", "warning", found, "Enough for a try; make room before loading much.")
    return Check("Disk", "ok", found)


def _bundled_postgres() -> Check:
    from ragbase.embedded.binaries import locate_binaries

    if importlib.util.find_spec("psutil") is None:
        return Check("Postgres", "failed", "psutil is missing", "Install `ragbase[embedded]`.")
    return _guarded(
        "Postgres", lambda: f"comes with RagBase ({locate_binaries().program('postgres')})"
    )


async def _database(settings: Settings) -> list[Check]:
    from ragbase.storage.facts import read_server_facts
    from ragbase.storage.migrations import check_schema
    from ragbase.storage.pool import Database

    dsn = settings.database_url.get_secret_value()
    try:
        async with (
            await Database.open(dsn, min_size=1, max_size=1, start_timeout_s=0) as database,
            database.acquire() as connection,
        ):
            facts = await read_server_facts(connection, ("vector", "pg_search"))
            schema = await check_schema(connection)
    except RagBaseError as error:
        return [Check("Postgres", "failed", error.message, "Check DATABASE_URL and the server.")]
    vector, search = facts.extensions["vector"], facts.extensions["pg_search"]
    return [
        _server_version(facts.version, facts.database),
        _pgvector(vector.available, vector.installed),
        _pg_search(settings.lexical, search.available, search.installed),
        _schema(schema.status, schema.dialect),
    ]


def _server_version(version: str, database: str) -> Check:
    found = f"{version}, database {database}"
    if _numbers(version) < (15,):
        return Check("Postgres", "failed", found, "RagBase needs Postgres 15 or newer.")
    return Check("Postgres", "ok", found)


def _pgvector(available: str | None, installed: str | None) -> Check:
    version = installed or available
    if version is None:
        hint = "Install pgvector on the server (package postgresql-<version>-pgvector)."
        return Check("pgvector", "failed", "not on the server", hint)
    if _numbers(version) < (0, 8):
        return Check("pgvector", "failed", version, "RagBase needs 0.8 or newer.")
    return Check("pgvector", "ok", version if installed else f"{version} (not set up yet)")


def _pg_search(lexical: str, available: str | None, installed: str | None) -> Check:
    if installed or available:
        return Check("pg_search", "ok", installed or f"{available} (not set up yet)")
    if lexical == "paradedb":
        hint = "Use ParadeDB's Postgres, or set RAGBASE_LEXICAL=native."
        return Check("pg_search", "failed", "not on the server", hint)
    return Check("pg_search", "ok", "not on the server; keywords are served by native BM25")


def _schema(status: str, dialect: str | None) -> Check:
    match status:
        case "current":
            return Check("Schema", "ok", f"current ({dialect})")
        case "ahead":
            hint = "Run that version of RagBase."
            return Check("Schema", "failed", "made by a newer RagBase", hint)
        case _:
            return Check("Schema", "failed", status, "Run `ragbase migrate`.")


async def _model(settings: Settings) -> Check:
    from ragbase.clients.select import open_embedder

    where = "in this process" if settings.engine == "onnx" else settings.embedding_url
    try:
        embedder = await open_embedder(settings)
        try:
            info = await embedder.info()
        finally:
            await embedder.aclose()
    except RagBaseError as error:
        hint = "See EMBEDDING_MODEL and EMBEDDING_URL in `ragbase settings`."
        return Check("Model", "failed", error.message, hint)
    found = f"{info.model} ({where}), {info.dimension} dimensions, {info.max_tokens} tokens"
    return Check("Model", "ok", found)


async def _rerankers(settings: Settings) -> list[Check]:
    """One a reranker; RagBase runs without them, so none of them fails."""
    from ragbase.clients.select_reranker import select_rerankers

    try:
        found = select_rerankers(settings)
    except RagBaseError as error:
        return [Check("Reranker", "failed", error.message, "See `ragbase settings`.")]
    checks = [await _reranker(name, selected) for name, selected in found.items()]
    return checks or [Check("Reranker", "ok", "none is configured")]


async def _reranker(name: str, selected: SelectedReranker) -> Check:
    from ragbase.clients.lazy_reranker import LazyReranker

    title, client = "Reranker", selected.client
    try:
        if isinstance(client, LazyReranker):
            await client.wait()
            if selected.on_demand and not client.ready:
                found = f"none; {client.model} is fetched when a request first asks for one"
                return Check(title, "ok", found)
        await client.ping()
        info = await client.info()
        await client.score("probe", ["probe"])
    except RagBaseError as error:
        hint = "Searches go on in fused order. See RERANKER_URL and RAGBASE_RERANKERS."
        return Check(title, "warning", f"{name}: {error.message}", hint)
    finally:
        await client.aclose()
    return Check(title, "ok", f"{name}: {info.model}")


async def _llms(settings: Settings) -> list[Check]:
    """Prompts and one a language model, none if none is configured; a completion is not asked for."""
    from ragbase.services.llm_open import language_models
    from ragbase.text.prompts import Prompts

    title = "Language model"
    try:
        Prompts.load(settings.prompts_dir)
        models = language_models(settings)
    except RagBaseError as error:
        return [Check(title, "failed", error.message, "See `ragbase settings`.")]
    checks = []
    for name, server in models.servers.items():
        try:
            await server.client.ping()
        except RagBaseError as error:
            hint = "Documents are stored without context lines; jobs try again. See LLM_BASE_URL."
            checks.append(Check(title, "warning", f"{name}: {error.message}", hint))
        else:
            checks.append(Check(title, "ok", f"{name}: {server.info.model}"))
    await models.aclose()
    return checks


def _port(settings: Settings, port: int | None) -> Check:
    wanted = port or (settings.port if "port" in settings.model_fields_set else UP_PORT)
    holder = holder_of(wanted)
    if holder is None:
        return Check("Port", "ok", f"{wanted} is free")
    found = f"{wanted} is in use by process {holder.pid}: {holder.command}"
    if holder.is_ragbase:
        return Check("Port", "ok", f"{wanted}: RagBase runs there (process {holder.pid})")
    return Check("Port", "failed", found, "Start with `--port 0`, or end that process.")


def _guarded(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, "ok", look())
    except RagBaseError as error:
        return Check(name, "failed", error.message)


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of each part: ``18beta1`` is (18,)."""
    return tuple(int(match[0]) for part in version.split(".") if (match := re.match(r"\d+", part)))


def _nearest_existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.absolute().parents) if folder.exists())
