"""The page at ``/``: a search box over this API, and where to go from here."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

__all__ = ["router"]

router = APIRouter()

_HTML = files("ragbase.routes").joinpath("page.html").read_text(encoding="utf-8")
_HEADERS = {
    # The page carries its own script and style and talks to this server only.
    "content-security-policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


@router.get("/", include_in_schema=False)
async def page() -> HTMLResponse:
    """A small page to try a search and find the documentation."""
    return HTMLResponse(_HTML, headers=_HEADERS)
