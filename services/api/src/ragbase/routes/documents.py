"""Document routes (contract §4)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response, status

from ragbase.models.documents import DocumentDetail, DocumentIn, DocumentOut, DocumentPatch
from ragbase.routes.auth import READ, WRITE
from ragbase.routes.deps import AllServices, DocumentId, Documents, Ingest, Jobs
from ragbase.routes.later import ACCEPTED, document_or_job
from ragbase.routes.openapi import NOT_FOUND, TOO_LARGE, UNAVAILABLE
from ragbase.routes.prefer import Prefer, Preferences
from ragbase.services.documents import to_out
from ragbase.services.graph_wait import GraphWait

__all__ = ["router"]

router = APIRouter(prefix="/v1/documents", tags=["documents"])

GraphHeader = Annotated[
    str | None,
    Header(
        alias="X-LightRAG-Ingest",
        description="`false`: the document stays out of the entity graph. `wait`: answer when it is in "
        "it, or after RAGBASE_GRAPH_WAIT seconds (`Prefer: wait=N`: after N).",
    ),
]


@router.post(
    "",
    dependencies=[WRITE],
    status_code=status.HTTP_201_CREATED,
    response_model=DocumentOut,
    responses={
        200: {"model": DocumentOut, "description": "Replaced, or nothing to do."},
        **ACCEPTED,
        **NOT_FOUND,
        **TOO_LARGE,
        **UNAVAILABLE,
    },
)
async def create_document(
    body: DocumentIn,
    services: AllServices,
    prefer: Preferences,
    response: Response,
    x_lightrag_ingest: GraphHeader = None,
) -> DocumentOut | Response:
    """Split, embed and store a document; searchable when this answers.

    A job then brings it into the entity graph, where one is configured: `graph` tells of it.

    The same text twice makes two documents, unless `external_id` or `dedupe` says otherwise.
    With `Prefer: respond-async` the document is checked and stored by a job.
    """
    ingest, jobs, documents = services.ingest, services.jobs, services.documents
    wish = (x_lightrag_ingest or "").strip().lower()
    if wish == "false":
        body.graph = False
    if prefer.respond_async:
        collection = await ingest.check(body)
        payload = body.model_dump(mode="json", exclude_unset=True)
        job = await jobs.submit("ingest", collection, payload)
        return await document_or_job(job, prefer, jobs, documents)
    result = await ingest.create(body)
    if result.outcome != "created":
        response.status_code = status.HTTP_200_OK
    answer = to_out(
        result.document,
        outcome=result.outcome,
        warnings=result.warnings,
        graph=result.graph,
        context=result.context,
    )
    seconds = _graph_seconds(wish, prefer, services.graph_wait)
    if seconds == prefer.wait_s > 0:
        response.headers["Preference-Applied"] = f"wait={prefer.wait_s}"
    return await services.graph_wait.settle(answer, seconds, jobs, documents) if seconds else answer


def _graph_seconds(wish: str, prefer: Prefer, graph_wait: GraphWait) -> float:
    """How long the caller would wait for the graph."""
    if wish == "false":
        return 0.0
    if prefer.wait_s:
        return min(prefer.wait_s, graph_wait.longest_s)
    return graph_wait.longest_s if wish == "wait" or graph_wait.always else 0.0


@router.get(
    "",
    dependencies=[READ],
    response_model=list[DocumentOut],
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def list_documents(
    documents: Documents,
    response: Response,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    collection: Annotated[str | None, Query(max_length=63)] = None,
    include_content: Annotated[bool, Query(description="false leaves `content` empty.")] = True,
) -> list[DocumentOut]:
    """Documents, newest first; `X-Total-Count` holds how many there are."""
    rows, total = await documents.page(
        offset=offset, limit=limit, collection=collection, include_content=include_content
    )
    response.headers["X-Total-Count"] = str(total)
    return rows


@router.get(
    "/{document_id}",
    dependencies=[READ],
    response_model=DocumentDetail,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def get_document(document_id: DocumentId, documents: Documents) -> DocumentDetail:
    """One document with its chunks, in order."""
    return await documents.get(document_id)


@router.patch(
    "/{document_id}",
    dependencies=[WRITE],
    response_model=DocumentOut,
    responses={**ACCEPTED, **NOT_FOUND, **TOO_LARGE, **UNAVAILABLE},
)
async def patch_document(
    document_id: DocumentId,
    body: DocumentPatch,
    ingest: Ingest,
    jobs: Jobs,
    documents: Documents,
    prefer: Preferences,
) -> DocumentOut | Response:
    """Change metadata; filters see it at once, chunks it appears in are embedded again.

    With `Prefer: respond-async` a job does it.
    """
    if prefer.respond_async:
        collection = await ingest.check_patch(document_id, body)
        job = await jobs.submit(
            "ingest",
            collection,
            body.model_dump(mode="json"),
            task="patch",
            document_id=document_id,
        )
        return await document_or_job(job, prefer, jobs, documents)
    return to_out(await ingest.patch(document_id, body))


@router.delete(
    "/{document_id}",
    dependencies=[WRITE],
    status_code=status.HTTP_204_NO_CONTENT,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def delete_document(document_id: DocumentId, documents: Documents) -> None:
    """Remove a document with its chunks, vectors and keyword postings."""
    await documents.delete(document_id)
