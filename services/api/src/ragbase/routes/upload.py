"""`POST /v1/documents/upload`: one file and its fields, as a form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response, status
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from ragbase.errors import InvalidInputError, TooLargeError, UnsupportedMediaTypeError
from ragbase.ingest.parse.characters import printable
from ragbase.models.documents import DocumentOut
from ragbase.models.uploads import UploadFields
from ragbase.routes.auth import WRITE
from ragbase.routes.deps import Documents, Jobs, Uploads
from ragbase.routes.errors import ErrorBody
from ragbase.routes.later import ACCEPTED, document_or_job
from ragbase.routes.openapi import NOT_FOUND, TOO_LARGE, UNAVAILABLE, UNSUPPORTED
from ragbase.routes.prefer import Preferences
from ragbase.services.documents import to_out
from ragbase.services.upload import Upload

__all__ = ["FIELDS_MAX", "PATH", "router"]

PATH = "/v1/documents/upload"
FIELDS_MAX = 16
_NAME_MAX = 255
_BAD_FORM: dict[int | str, dict[str, Any]] = {
    400: {
        "model": ErrorBody,
        "description": "No form that can be read, or more parts than are taken.",
    }
}
_GONE = 499
"""Of the log only: nobody is there to read it."""

T = TypeVar("T")


def _form_schema() -> dict[str, Any]:
    schema = UploadFields.model_json_schema()
    schema["properties"]["metadata"] = {
        "type": "string",
        "contentMediaType": "application/json",
        "description": UploadFields.model_fields["metadata"].description,
        "default": "{}",
    }
    file = {
        "type": "string",
        "format": "binary",
        "description": "Text, Markdown, HTML, PDF, DOCX or CSV; one file a request.",
    }
    schema["properties"] = {"file": file, **schema["properties"]}
    schema["required"] = ["file"]
    schema.pop("title", None)
    return schema


router = APIRouter(prefix="/v1/documents", tags=["documents"])


@router.post(
    "/upload",
    dependencies=[WRITE],
    status_code=status.HTTP_201_CREATED,
    response_model=DocumentOut,
    responses={
        200: {"model": DocumentOut, "description": "Replaced, or nothing to do."},
        **ACCEPTED,
        **_BAD_FORM,
        **NOT_FOUND,
        **TOO_LARGE,
        **UNSUPPORTED,
        **UNAVAILABLE,
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"multipart/form-data": {"schema": _form_schema()}},
        }
    },
)
async def upload_document(
    request: Request,
    uploads: Uploads,
    jobs: Jobs,
    documents: Documents,
    prefer: Preferences,
    response: Response,
) -> DocumentOut | Response:
    """Read a file and store it as a document; searchable when this answers.

    The kind is told by content, then by name, then by the part's `Content-Type`. Title and metadata
    come from the file where the form gives none. A file that cannot be read is 422 with a `code`:
    `no_text`, `encrypted`, `invalid_text`, `file_unreadable`, `parse_timeout`, `parse_memory`.
    With `Prefer: respond-async` a job reads it.
    """
    if _kind(request) != "multipart/form-data":
        raise UnsupportedMediaTypeError(
            "Send the file as multipart/form-data, in a part called `file`."
        )
    async with request.form(
        max_files=1, max_fields=FIELDS_MAX, max_part_size=uploads.bounds.field_bytes
    ) as form:
        upload = _read(form, uploads.bounds.file_bytes)
        if prefer.respond_async:
            return await document_or_job(await uploads.submit(upload), prefer, jobs, documents)
        result = await _while_connected(request, uploads.create(upload))
    if result is None:
        return Response(status_code=_GONE)
    if result.outcome != "created":
        response.status_code = status.HTTP_200_OK
    return to_out(
        result.document,
        outcome=result.outcome,
        warnings=result.warnings,
        graph=result.graph,
        context=result.context,
    )


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _read(form: FormData, max_bytes: int) -> Upload:
    """The upload of a form. Raises `InvalidInputError`, `RequestValidationError`."""
    file = form.get("file")
    if not isinstance(file, UploadFile):
        raise InvalidInputError(
            "Send a file in a part called `file`, with a `filename`.", code="missing", field="file"
        )
    size = file.size or 0
    if size > max_bytes:
        raise TooLargeError(
            f"The file has {size} bytes; at most {max_bytes} are taken (RAGBASE_MAX_UPLOAD_BYTES).",
            code="file_too_large",
        )
    return Upload(file.file, size, _name(file.filename), file.content_type, _fields(form))


def _fields(form: FormData) -> UploadFields:
    given: dict[str, object] = {}
    for name, value in form.multi_items():
        if name in given:
            raise InvalidInputError(f"{name} is given twice.", code="duplicate_field", field=name)
        if name != "file":
            given[name] = value
    try:
        return UploadFields.model_validate(given)
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults) from error


def _name(given: str | None) -> str:
    """A file's name without the folders that some senders put before it."""
    last = (given or "").replace("\\", "/").rpartition("/")[2]
    return printable(last).strip()[:_NAME_MAX] or "upload"


async def _while_connected(request: Request, work: Awaitable[T]) -> T | None:
    """What ``work`` gives; None, and the work ended, when the caller goes away meanwhile."""
    task = asyncio.ensure_future(work)
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.wait({task, gone})


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
