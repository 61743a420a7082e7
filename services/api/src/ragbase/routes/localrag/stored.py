"""Files: store, search, list, delete."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from ragbase.models.localrag import DeleteIn, FileQuery, RetrieveIn, StoreIn
from ragbase.models.localrag_out import DeleteAnswer, FilesAnswer, RetrieveAnswer, StoreAnswer
from ragbase.routes.auth import READ, WRITE
from ragbase.routes.localrag.answers import retrieved, stored, written
from ragbase.routes.localrag.deps import Localrag
from ragbase.routes.localrag.errors import STRING_ERRORS

__all__ = ["router"]

PAGE_MAX = 100
PAGE_LAST = 2**53 - 1
"""What every JSON reader takes for a whole number."""

router = APIRouter(tags=["files"], responses=STRING_ERRORS)


@router.post("/v1/store", response_model=StoreAnswer, dependencies=[WRITE])
async def store(body: StoreIn, localrag: Localrag) -> Response:
    """Split, embed and store a document as a new file, in one transaction."""
    file = await localrag.files.store(body)
    return stored(file, body.document if body.include_document else None)


@router.post("/v1/retrieve", response_model=RetrieveAnswer, dependencies=[READ])
async def retrieve(body: RetrieveIn, localrag: Localrag) -> Response:
    """Search in the stored files.

    The threshold is on the combined score. A reranker scores the best max(4 · top_k, 20) chunks
    that pass it; `reranked` then gives the order.
    """
    return retrieved(await localrag.retrieval.retrieve(body))


@router.get("/v1/documents", response_model=FilesAnswer, dependencies=[READ])
async def documents(query: Annotated[FileQuery, Query()], localrag: Localrag) -> Response:
    """Stored files with their first chunk, in the order in which they were stored."""
    page = min(PAGE_LAST, max(1, query.page))
    size = min(PAGE_MAX, max(1, query.page_size))
    rows, total = await localrag.files.page(
        page=page, page_size=size, folder_id=query.folder_id, file_id=query.file_id
    )
    data: list[dict[str, Any]] = [
        {
            "file_id": row.file_id,
            "folder_id": row.folder_id,
            "content_preview": row.content,
            "context_preview": row.context,
        }
        for row in rows
    ]
    pagination = {
        "current_page": page,
        "total_pages": -(-total // size),
        "total_items": total,
        "page_size": size,
    }
    message = "Documents retrieved successfully"
    return written({"message": message, "data": data, "pagination": pagination})


@router.post("/v1/delete", response_model=DeleteAnswer, dependencies=[WRITE])
async def delete(body: DeleteIn, localrag: Localrag) -> Response:
    """Remove every trace of a file."""
    await localrag.files.delete(body.file_id)
    return written({"message": "Chunks deleted successfully", "file_id": body.file_id})
