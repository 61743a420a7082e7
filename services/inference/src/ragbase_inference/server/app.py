"""The ASGI application over the models of a process."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ragbase_inference.errors import InferenceError
from ragbase_inference.server.call import BodyBounds, json_bytes, respond
from ragbase_inference.server.endpoints import ENDPOINTS
from ragbase_inference.server.errors import ApiError, ErrorType, api_error
from ragbase_inference.server.frame import Frame
from ragbase_inference.server.info import model_info, model_list
from ragbase_inference.server.metrics import ServerMetrics
from ragbase_inference.server.openapi import openapi_document
from ragbase_inference.serving.models import ServedModels
from ragbase_inference.serving.served import ServedModel

__all__ = ["create_app"]

OPENAPI_PATH = "/api-doc/openapi.json"
_PUBLIC = frozenset({"/health", "/ping", "/metrics", OPENAPI_PATH})
_UNHEALTHY = ApiError(ErrorType.UNHEALTHY, "The model fails on every input", "unhealthy")


def create_app(
    models: ServedModels, metrics: ServerMetrics, *, api_key: str, bounds: BodyBounds
) -> ASGIApp:
    """Routes of the first model at the root, of each model under ``/models/<name>``.

    ``metrics`` are those that ``models`` report to.
    """
    routes = [
        *_process_routes(models, with_key=bool(api_key)),
        *_model_routes("", next(iter(models)), list(models), metrics, bounds),
    ]
    for served in models:
        metrics.watch(served)
        prefix = f"/models/{served.spec.name}"
        routes += _model_routes(prefix, served, [served], metrics, bounds)
    app = Starlette(routes=routes, exception_handlers={404: _bare, 405: _bare})
    app.router.redirect_slashes = False
    public = {prefix + path for prefix in _prefixes(models) for path in _PUBLIC}
    probes = {path for prefix in _prefixes(models) for path in _paths(prefix, "/")}
    protected = {route.path for route in routes} - public
    return Frame(app, api_key, protected=protected, probes=probes)


def _prefixes(models: ServedModels) -> list[str]:
    return ["", *(f"/models/{served.spec.name}" for served in models)]


def _process_routes(models: ServedModels, *, with_key: bool) -> list[Route]:
    document = json_bytes(
        openapi_document([served.spec.name for served in models], with_key=with_key)
    )

    async def openapi(_: Request) -> Response:
        return Response(document, media_type="application/json")

    async def listed(_: Request) -> Response:
        return Response(json_bytes(model_list(models)), media_type="application/json")

    return [Route(OPENAPI_PATH, openapi), Route("/v1/models", listed)]


def _model_routes(
    prefix: str,
    served: ServedModel,
    probed: Sequence[ServedModel],
    metrics: ServerMetrics,
    bounds: BodyBounds,
) -> list[Route]:
    """Routes of one model; ``/health`` there speaks of ``probed``."""
    of_model = metrics.of(served.spec.name)

    async def health(_: Request) -> Response:
        if all(one.is_healthy() for one in probed):
            return Response()
        return _UNHEALTHY.response("native")

    async def info(_: Request) -> Response:
        try:
            return Response(json_bytes(await model_info(served)), media_type="application/json")
        except InferenceError as error:
            return api_error(error).response("native")

    async def scrape(_: Request) -> Response:
        return Response(metrics.render(), media_type="text/plain; version=0.0.4")

    told = {"/health": health, "/ping": health, "/": health, "/info": info, "/metrics": scrape}
    return [
        *(Route(path, told[own]) for own in told for path in _paths(prefix, own)),
        *(
            Route(path, respond(one.handler, served, of_model, bounds, one.shape), methods=["POST"])
            for one in ENDPOINTS
            for path in _paths(prefix, one.path)
        ),
    ]


def _paths(prefix: str, path: str) -> list[str]:
    """A model's root has two: clients take a base URL with and without its last slash."""
    return [prefix + path, prefix] if prefix and path == "/" else [prefix + path]


async def _bare(_: Request, error: Exception) -> Response:
    """404 and 405 have no body."""
    status, headers = 500, None
    if isinstance(error, HTTPException):
        status, headers = error.status_code, error.headers
    return Response(status_code=status, headers=headers)
