"""Graph routes (contract §7): the shape of the graph of concepts, or of that of entities."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import TypeAdapter

from ragbase.models.graph_reads import CommunityOut, GraphCounts, GraphKind, NeighbourOut, NodeOut
from ragbase.retrieval.trace import Trace
from ragbase.routes.auth import READ
from ragbase.routes.deps import GraphReads, NodeId
from ragbase.routes.openapi import NOT_FOUND, UNAVAILABLE
from ragbase.storage.collections import DEFAULT

__all__ = ["router"]

NEIGHBOURS_MAX = 1000
PATH_DEPTH_MAX = 20

router = APIRouter(prefix="/v1/graph", tags=["graph"], dependencies=[READ])

_COMMUNITIES = TypeAdapter(list[CommunityOut])

WARNED = {
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
    body = await asyncio.to_thread(_COMMUNITIES.dump_json, rows)
    return Response(body, media_type="application/json", headers=_warnings(trace))


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
