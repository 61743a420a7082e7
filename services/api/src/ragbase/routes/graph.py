"""Graph routes (contract §7): the shape of the graph of concepts, or of that of entities."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from ragbase.models.graph_reads import CommunityOut, GraphCounts, GraphKind, NeighbourOut, NodeOut
from ragbase.retrieval.trace import Trace
from ragbase.routes.auth import READ
from ragbase.routes.deps import GraphReads, NodeId
from ragbase.routes.openapi import NOT_FOUND, UNAVAILABLE, Responses
from ragbase.storage.collections import DEFAULT
from ragbase.storage.graph_nodes import GraphNode

__all__ = ["router", "written"]

NEIGHBOURS_MAX = 1000
PATH_DEPTH_MAX = 20
WRITTEN_AT_ONCE = 2_000
"""Rows of a long answer that are turned into JSON before other requests have their turn."""

router = APIRouter(prefix="/v1/graph", tags=["graph"], dependencies=[READ])

WARNED: Responses = {
    200: {
        "headers": {
            "X-Warning": {
                "description": "Codes of what the answer went without, as in `warnings` of searches: "
                "`graph_store_unavailable`, `graph_store_filling` (Postgres answered instead).",
                "schema": {"type": "string"},
            }
        }
    }
}

Kind = Annotated[
    GraphKind,
    Query(description="Which graph: concepts with their relations, or extracted entities."),
]


@router.get(
    "/neighbors/{node_id}",
    response_model=list[NeighbourOut],
    responses={**WARNED, **NOT_FOUND, **UNAVAILABLE},
)
async def read_neighbours(
    node_id: NodeId,
    graph: GraphReads,
    response: Response,
    depth: Annotated[int, Query(ge=1, le=5, description="Most steps.")] = 2,
    kind: Kind = "concept",
    limit: Annotated[int, Query(ge=1, le=NEIGHBOURS_MAX)] = NEIGHBOURS_MAX,
) -> list[NeighbourOut]:
    """What outgoing relations reach: each node once, at its least depth, without the start.

    By depth, then name. Cut to the `limit` nodes that come first by depth and id; of a node
    (but the start) 100 relations are followed, those to the nodes of least id.
    """
    trace = Trace()
    rows = await graph.neighbours(kind, node_id, depth=depth, limit=limit, trace=trace)
    response.headers.update(_warnings(trace))
    return rows


@router.get(
    "/path/{start_id}/{end_id}",
    response_model=list[NodeOut],
    responses={**WARNED, **NOT_FOUND, **UNAVAILABLE},
)
async def read_path(
    start_id: NodeId,
    end_id: NodeId,
    graph: GraphReads,
    response: Response,
    kind: Kind = "concept",
    max_depth: Annotated[
        int, Query(ge=1, le=PATH_DEPTH_MAX, description="Most relations of the path.")
    ] = 10,
) -> list[NodeOut]:
    """A shortest path over relations in either direction, both ends included.

    404 where there is none. Of several the same one is always given.
    """
    trace = Trace()
    rows = await graph.path(kind, start_id, end_id, max_depth=max_depth, trace=trace)
    response.headers.update(_warnings(trace))
    return rows


@router.get(
    "/communities",
    response_model=list[CommunityOut],
    responses={**WARNED, **NOT_FOUND, **UNAVAILABLE},
)
async def read_communities(
    graph: GraphReads,
    kind: Kind = "concept",
    collection: Annotated[str, Query(max_length=63)] = DEFAULT,
) -> Response:
    """Every node of a collection and its community, by community, then name.

    Communities are numbered from 0, the largest first; a node without relations has -1.
    """
    trace = Trace()
    rows = await graph.communities(kind, collection, trace)
    return StreamingResponse(written(rows), media_type="application/json", headers=_warnings(trace))


@router.get("/stats", response_model=GraphCounts, responses={**NOT_FOUND, **UNAVAILABLE})
async def read_graph_stats(
    graph: GraphReads,
    collection: Annotated[
        str | None, Query(max_length=63, description="Left out: all readable ones.")
    ] = None,
) -> GraphCounts:
    """How many concepts, entities and relations between them there are."""
    return await graph.counts(collection)


def _warnings(trace: Trace) -> dict[str, str]:
    """The answers are bare lists: what was gone without stands in a header, by code."""
    codes = ", ".join(warning.code for warning in trace.warnings)
    return {"X-Warning": codes} if codes else {}


async def written(rows: Sequence[tuple[GraphNode, int]]) -> AsyncIterator[bytes]:
    """A JSON array of `CommunityOut`, piece by piece."""
    yield b"["
    for start in range(0, len(rows), WRITTEN_AT_ONCE):
        piece = [
            {"id": node.id, "name": node.name, "type": node.type, "community_id": community}
            for node, community in rows[start : start + WRITTEN_AT_ONCE]
        ]
        yield (b"," if start else b"") + orjson.dumps(piece)[1:-1]
        await asyncio.sleep(0)
    yield b"]"
