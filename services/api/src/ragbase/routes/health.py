"""Health, readiness and metrics (contract §8)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ragbase.models.health import Health, ModelsHealth, Readiness
from ragbase.routes.auth import known_caller, require
from ragbase.routes.deps import Healths
from ragbase.telemetry.metrics import REGISTRY

__all__ = ["metrics_router", "router"]

router = APIRouter(tags=["health"])
metrics_router = APIRouter(tags=["health"], dependencies=[Depends(require("read", unbound=True))])
"""The counts are of all collections, so a key that is bound to some may not read them."""


@router.get("/health/live")
async def live() -> dict[str, str]:
    """The process answers; touches no dependency."""
    return {"status": "ok"}


@router.get("/health/ready", response_model=Readiness, responses={503: {"model": Readiness}})
async def ready(health: Healths, request: Request, response: Response) -> Readiness:
    """200 when requests can be served: Postgres answers, the schema fits, the embedder was reached once.

    Why it is not, only a key with the scope `read` is told (where keys are needed at all).
    """
    state = await health.readiness()
    if state.status != "ready":
        response.status_code = 503
    return state if _may_know(request) else Readiness(status=state.status)


@router.get("/health", response_model=Health)
async def health_report(health: Healths, request: Request) -> Health:
    """State of each part, as probed in the background; always 200.

    What is wrong with a part, only a key with the scope `read` is told (where keys are needed).
    """
    report = health.report()
    return report if _may_know(request) else _brief(report)


@router.get("/health/models", response_model=ModelsHealth)
async def models(health: Healths, request: Request) -> ModelsHealth:
    """Which models answer; without a key with the scope `read`, only that they do."""
    found = await health.models()
    return found if _may_know(request) else _only_that(found)


def _may_know(request: Request) -> bool:
    caller = known_caller(request)
    return caller is not None and caller.may("read")


def _brief(report: Health) -> Health:
    """The contract's words without reasons: those may name hosts."""
    parts = ("postgres", "embedding", "reranker", "llm", "memgraph")
    words = {part: _word(getattr(report, part)) for part in parts}
    rerankers = {name: _word(said) for name, said in report.rerankers.items()}
    llms = {name: _word(said) for name, said in report.llms.items()}
    return report.model_copy(update={**words, "rerankers": rerankers, "llms": llms})


def _word(said: str) -> str:
    return said.partition(":")[0]


def _only_that(found: ModelsHealth) -> ModelsHealth:
    answers: dict[str, Any] = {"status": "healthy"}
    return ModelsHealth(
        embedding=found.embedding and answers,
        reranker=answers if isinstance(found.reranker, dict) else found.reranker,
        rerankers={name: each and answers for name, each in found.rerankers.items()},
        llms={name: each and answers for name, each in found.llms.items()},
    )


@metrics_router.get("/metrics", include_in_schema=False)
async def metrics() -> Response:
    """Prometheus text."""
    return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)
