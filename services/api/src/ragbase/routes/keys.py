"""API keys: made, listed, revoked; only with an admin key that is not bound to collections."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response, status

from ragbase.models.keys import KeyCreated, KeyIn, KeyOut
from ragbase.routes.auth import require
from ragbase.routes.deps import Keys
from ragbase.routes.openapi import NOT_FOUND, UNAVAILABLE
from ragbase.services.keys_format import KEY_ID

__all__ = ["router"]

router = APIRouter(
    prefix="/v1/keys", tags=["keys"], dependencies=[Depends(require("admin", unbound=True))]
)

KeyId = Annotated[str, Path(pattern=f"^{KEY_ID}$", max_length=32, description="Public id.")]


@router.post(
    "", status_code=status.HTTP_201_CREATED, response_model=KeyCreated, responses={**UNAVAILABLE}
)
async def create_key(body: KeyIn, keys: Keys, response: Response) -> KeyCreated:
    """Make a key. The answer shows it whole, once: only its hash is stored."""
    response.headers["cache-control"] = "no-store"
    return await keys.create(body)


@router.get("", response_model=list[KeyOut], responses={**UNAVAILABLE})
async def list_keys(
    keys: Keys,
    response: Response,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
) -> list[KeyOut]:
    """Keys without their secrets, newest first; `X-Total-Count` holds how many there are."""
    rows, total = await keys.page(offset=offset, limit=limit)
    response.headers["X-Total-Count"] = str(total)
    return rows


@router.get("/{key_id}", response_model=KeyOut, responses={**NOT_FOUND, **UNAVAILABLE})
async def get_key(key_id: KeyId, keys: Keys) -> KeyOut:
    """One key without its secret."""
    return await keys.get(key_id)


@router.delete(
    "/{key_id}",
    status_code=status.HTTP_204_NO_CONTENT,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def revoke_key(key_id: KeyId, keys: Keys) -> None:
    """End a key: at once on this server, within seconds on its replicas. Its row stays listed."""
    await keys.revoke(key_id)
