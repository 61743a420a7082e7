"""A thin client of RagBase's HTTP API.

    from ragbase.sdk import Client

    with Client("http://127.0.0.1:5050") as client:
        client.documents.create("Harbour rules", "Ships moor at the north quay.")
        for row in client.search("where do ships moor").results:
            print(row.score, row.document_title, row.content)

        client.documents.upload(Path("tides.pdf"), external_id="tides.pdf")

`AsyncClient` has the same calls, awaited. Answers are the server's own pydantic models.
"""

from __future__ import annotations

from ragbase.sdk.asynchronous import AsyncClient
from ragbase.sdk.batch import BatchDocument
from ragbase.sdk.client import Client
from ragbase.sdk.errors import ApiError, ConnectionFailedError, SdkError, TimedOutError
from ragbase.sdk.options import (
    CollectionOptions,
    ConceptChanges,
    ConceptOptions,
    DocumentOptions,
    GraphSearchOptions,
    Mode,
    RelationOptions,
    SearchOptions,
    UploadOptions,
)
from ragbase.sdk.transport import DEFAULT_URL

__all__ = [
    "DEFAULT_URL",
    "ApiError",
    "AsyncClient",
    "BatchDocument",
    "Client",
    "CollectionOptions",
    "ConceptChanges",
    "ConceptOptions",
    "ConnectionFailedError",
    "DocumentOptions",
    "GraphSearchOptions",
    "Mode",
    "RelationOptions",
    "SdkError",
    "SearchOptions",
    "TimedOutError",
    "UploadOptions",
]
