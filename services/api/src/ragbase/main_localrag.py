"""The app factory of the second API; it lives beside the first one, or alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from ragbase import __version__
from ragbase.clients.embedder import Embedder
from ragbase.clients.gguf import GgufModels
from ragbase.factory import open_services
from ragbase.limits import LOCALRAG
from ragbase.loopback import is_loopback
from ragbase.main import check_exposure
from ragbase.routes import health
from ragbase.routes.localrag import models, root, stateless, stored
from ragbase.routes.localrag.bodies import AssumedJson
from ragbase.routes.localrag.errors import install_error_handlers
from ragbase.routes.middleware.authentication import Authentication
from ragbase.routes.middleware.context import RequestContext
from ragbase.routes.middleware.hosts import LoopbackHosts
from ragbase.routes.middleware.limits import BodyBounds, BodyLimit, InflightLimit
from ragbase.routes.openapi import describe_security
from ragbase.services.keys_given import given_keys
from ragbase.settings import Settings
from ragbase.telemetry.metrics import BUILD_INFO

__all__ = ["create_localrag_app"]

_DESCRIPTION = """
Local RAG on GGUF models: split, embed, store and retrieve files.

A second API over the store of the first: its files are the documents of the collection `localrag`.
"""


def create_localrag_app(
    settings: Settings, *, embedder: Embedder | None = None, gguf: GgufModels | None = None
) -> FastAPI:
    """The second API for these settings. Its lifespan opens all it needs, see `open_services`.

    Beside the first API, in one process, leave its lifespan out and set ``app.state.services``
    to services that were opened with ``localrag=True``.
    """
    check_exposure(settings)
    given_keys(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_services(settings, embedder, localrag=True, gguf=gguf) as services:
            app.state.services = services
            yield

    app = FastAPI(
        title="rag-base, second API: local RAG",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a path with one more is unknown, as in the original
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    BUILD_INFO.info({"version": __version__})
    app.state.label_prefix = f"{LOCALRAG}:"
    for module in (root, stateless, stored, models, health):
        app.include_router(module.router)
    if settings.metrics_port is None:
        app.include_router(health.metrics_router)
    describe_security(app)
    install_error_handlers(app)
    _add_middleware(app, settings)
    return app


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    # As of the first API; chunks that come with a query bring their vectors along.
    body = BodyBounds(settings.max_body_bytes, settings.body_timeout, "RAGBASE_MAX_BODY_BYTES")
    query = BodyBounds(settings.max_upload_bytes, settings.body_timeout, "RAGBASE_MAX_UPLOAD_BYTES")
    app.add_middleware(AssumedJson)
    app.add_middleware(BodyLimit, bounds=body, paths={"/v1/query": query})
    app.add_middleware(
        InflightLimit, limit=settings.max_inflight, writes=settings.max_inflight_writes
    )
    app.add_middleware(Authentication)
    if is_loopback(settings.host):
        app.add_middleware(LoopbackHosts)
    app.add_middleware(RequestContext)
