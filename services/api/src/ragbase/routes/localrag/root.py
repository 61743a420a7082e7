"""``/``: that this is the second API."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

__all__ = ["router"]

router = APIRouter()


@router.get("/", include_in_schema=False)
async def root() -> PlainTextResponse:
    """The original's words."""
    return PlainTextResponse("Local RAG API Service")
