"""The app factory: routes, middleware, error handlers and the lifespan that opens everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from ragbase import __version__
from ragbase.clients.embedder import Embedder
from ragbase.errors import ConfigurationError
from ragbase.factory import open_services
from ragbase.limits import UPLOAD_FIELD_BYTES
from ragbase.loopback import is_loopback
from ragbase.routes import (
    batch,
    collections,
    concepts,
    deletion,
    documents,
    embed,
    entities,
    graph,
    health,
    jobs,
    keys,
    page,
    relations,
    rerank,
    search,
    search_graph,
    stats,
    upload,
)
from ragbase.routes.errors import install_error_handlers
from ragbase.routes.middleware.authentication import Authentication
from ragbase.routes.middleware.context import RequestContext
from ragbase.routes.middleware.hosts import LoopbackHosts
from ragbase.routes.middleware.limits import BodyBounds, BodyLimit, InflightLimit
from ragbase.routes.openapi import describe_security
from ragbase.services.keys_given import given_keys
from ragbase.settings import Settings
from ragbase.telemetry.metrics import BUILD_INFO

__all__ = ["check_exposure", "create_app"]

UPLOAD_TIMES_BODY = 10
"""So much longer than a JSON body may a file take to arrive: 64 MiB over 1 Mbit/s."""

_DESCRIPTION = """
Hybrid retrieval: BM25 and vectors over one Postgres, fused, with what ran and how long it took.

It retrieves; it does not write answers.
"""


def check_exposure(settings: Settings) -> None:
    """Raise `ConfigurationError` when the settings would expose an open server."""
    if not (is_loopback(settings.host) or settings.auth_on or settings.allow_insecure):
        raise ConfigurationError(
            f"RAGBASE_HOST={settings.host} listens beyond this machine, and RAGBASE_AUTH=off lets "
            "everybody in. Unset RAGBASE_AUTH so that callers need an API key, or set "
            "RAGBASE_ALLOW_INSECURE=true behind a proxy that authenticates."
        )


def create_app(
    settings: Settings, *, embedder: Embedder | None = None, localrag: bool = False
) -> FastAPI:
    """The API for these settings. Its lifespan opens the database and the embedder.

    ``embedder`` takes the place of the one that the settings name; its owner closes it.
    ``localrag``: the services are those of the second API, too, which another app serves.

    Raises `ConfigurationError` when the settings would expose an open server.
    """
    check_exposure(settings)
    given_keys(settings)  # one of the wrong form is told before anything is opened

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_services(settings, embedder, localrag=localrag) as services:
            app.state.services = services
            yield

    app = FastAPI(
        title="rag-base",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own pages load their scripts from a CDN; ours is in routes/page.py
        redoc_url=None,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    BUILD_INFO.info({"version": __version__})
    _add_routes(app, settings)
    describe_security(app)
    install_error_handlers(app)
    _add_middleware(app, settings, loopback=is_loopback(settings.host))
    return app


def _add_routes(app: FastAPI, settings: Settings) -> None:
    # Routes are tried in this order: what is asked most comes first.
    for module in (
        search, page, batch, upload, deletion, documents, search_graph, stats, collections, embed,
        entities, concepts, relations, graph, rerank, jobs, keys, health,
    ):  # fmt: skip
        app.include_router(module.router)
    if settings.metrics_port is None:
        app.include_router(health.metrics_router)


def _add_middleware(app: FastAPI, settings: Settings, *, loopback: bool) -> None:
    # The last one added is the outermost: every answer, also a refusal, has an id and a log line.
    app.add_middleware(
        BodyLimit,
        bounds=BodyBounds(settings.max_body_bytes, settings.body_timeout, "RAGBASE_MAX_BODY_BYTES"),
        paths={upload.PATH: _upload_bounds(settings)},
    )
    app.add_middleware(
        InflightLimit, limit=settings.max_inflight, writes=settings.max_inflight_writes
    )
    app.add_middleware(Authentication)  # before a place in flight is taken or a body read
    if loopback:
        app.add_middleware(LoopbackHosts)
    app.add_middleware(RequestContext)


def _upload_bounds(settings: Settings) -> BodyBounds:
    """A file with its fields takes longer than a JSON body, as it may be larger."""
    fields = UPLOAD_FIELD_BYTES + 2 * settings.max_metadata_bytes
    return BodyBounds(
        settings.max_upload_bytes + fields,
        UPLOAD_TIMES_BODY * settings.body_timeout,
        "RAGBASE_MAX_UPLOAD_BYTES",
    )
