"""What the routes of the second API ask for."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from ragbase.routes.auth import bound_access
from ragbase.services.localrag.services import LocalragServices

__all__ = ["Localrag"]


async def _localrag(request: Request) -> LocalragServices:
    services = cast("LocalragServices | None", request.app.state.services.localrag)
    if services is None:
        raise RuntimeError("the second API is served without its services")
    return services.seen_by(bound_access(request))


Localrag = Annotated[LocalragServices, Depends(_localrag)]
