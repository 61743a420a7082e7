"""Health, readiness and metrics (contract §8)."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ragbase.models.health import Health, ModelsHealth, Readiness
from ragbase.routes.deps import Healths
from ragbase.telemetry.metrics import REGISTRY

__all__ = ["metrics_router", "router"]

router = APIRouter(tags=["health"])
metrics_router = APIRouter(tags=["health"])


@router.get("/health/live")
async def live() -> dict[str, str]:
    """The process answers; touches no dependency."""
    return {"status": "ok"}


@router.get("/health/ready", response_model=Readiness, responses={503: {"model": Readiness}})
async def ready(health: Healths, response: Response) -> Readiness:
    """200 when requests can be served: Postgres answers, the schema fits, the embedder was reached once."""
    state = await health.readiness()
    if state.status != "ready":
        response.status_code = 503
    return state


@router.get("/health", response_model=Health)
async def health_report(health: Healths) -> Health:
    """State of each part, as probed in the background; always 200."""
    return health.report()


@router.get("/health/models", response_model=ModelsHealth)
async def models(health: Healths) -> ModelsHealth:
    """Which models answer."""
    return await health.models()


@metrics_router.get("/metrics", include_in_schema=False)
async def metrics() -> Response:
    """Prometheus text."""
    return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)
