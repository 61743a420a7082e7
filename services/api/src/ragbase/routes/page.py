"""The pages: ``/``, a search box over this API, and ``/docs``, its reference. Neither needs a network."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

__all__ = ["router"]

router = APIRouter()


def _html(name: str) -> str:
    return files("ragbase.routes").joinpath(name).read_text(encoding="utf-8")


_SEARCH = _html("page.html")
_REFERENCE = _html("reference.html")
_HEADERS = {
    # A page carries its own script and style and talks to this server only.
    "content-security-policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


@router.get("/", include_in_schema=False)
async def page() -> HTMLResponse:
    """A small page to try a search and find the documentation."""
    return HTMLResponse(_SEARCH, headers=_HEADERS)


@router.get("/docs", include_in_schema=False)
async def reference() -> HTMLResponse:
    """The API reference, drawn from ``/openapi.json``."""
    return HTMLResponse(_REFERENCE, headers=_HEADERS)
