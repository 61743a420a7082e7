"""How much is stored and under way."""

from __future__ import annotations

from fastapi import APIRouter

from ragbase.models.stats import StatsOut
from ragbase.routes.auth import READ
from ragbase.routes.deps import Stats
from ragbase.routes.openapi import UNAVAILABLE

__all__ = ["router"]

router = APIRouter(prefix="/v1/stats", tags=["stats"], dependencies=[READ])


@router.get("", response_model=StatsOut, responses={**UNAVAILABLE})
async def read_stats(stats: Stats) -> StatsOut:
    """Documents, chunks, entities, relations and jobs: in all, and of each readable collection.

    Counted at most once a second, of a huge index less often.
    """
    return await stats.read()
