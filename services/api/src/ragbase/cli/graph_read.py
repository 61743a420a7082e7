"""``ragbase graph search`` and its like: ask the graph of a running RagBase."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.console import show_models
from ragbase.cli.errors import exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, AsJson, CollectionName, Url, json_object

if TYPE_CHECKING:
    from ragbase.models.graph_search import GraphSearchResponse
    from ragbase.sdk import GraphSearchOptions

__all__ = ["graph_read"]

graph_read = typer.Typer()
"""Without a name: its commands join those of the group that takes it."""

CHUNK_CHARS = 160


class Kind(StrEnum):
    """Which graph."""

    concept = "concept"
    entity = "entity"


WhichGraph = Annotated[
    Kind, typer.Option("--kind", help="Concepts of one's own, or extracted entities.")
]


@graph_read.command("search")
@exits
def search_graph(
    query: Annotated[str, typer.Argument(help="A text that names things.", metavar="QUERY")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: CollectionName = None,
    hops: Annotated[int, typer.Option("--hops", min=0, max=2, help="Steps over relations.")] = 1,
    top_k: Annotated[
        int, typer.Option("--top-k", "-k", min=1, max=200, help="Chunks to show.")
    ] = 10,
    pagerank: Annotated[
        bool, typer.Option("--pagerank", help="Rank chunks by the walk of hybrid search.")
    ] = False,
    filter_: Annotated[
        str | None,
        typer.Option("--filter", "-f", help="Metadata filter as JSON.", metavar="JSON"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the entities that a text names, what is related to them, and chunks that tell of them.

    [bold]Examples[/bold]

      ragbase graph search "Whom did Ada Lovelace work with?"
      ragbase graph search "Acme Corp" --hops 2 --json | jq '.subgraph.edges'
    """
    from ragbase.cli.console import print_json
    from ragbase.sdk import Client

    options: GraphSearchOptions = {
        "hops": hops,
        "top_k_chunks": top_k,
        "chunk_ranking": "pagerank" if pagerank else "support",
        "explain": True,
    }
    if collection is not None:
        options["collection"] = collection
    condition = json_object(filter_, "--filter")
    if condition is not None:
        options["filter"] = condition
    with Client(url, api_key) as client:
        answer = client.search_graph(query, **options)
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        _show_search(answer)


@graph_read.command("neighbours")
@exits
def neighbours(
    node_id: Annotated[int, typer.Argument(help="Id of a concept or entity.", metavar="ID", min=1)],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    kind: WhichGraph = Kind.concept,
    depth: Annotated[int, typer.Option("--depth", "-d", min=1, max=5, help="Most steps.")] = 2,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="Rows to show.")
    ] = 100,
    as_json: AsJson = False,
) -> None:
    """Show what outgoing relations reach from a concept or entity, nearest first.

    [bold]Examples[/bold]

      ragbase graph neighbours 17 --depth 3
      ragbase graph neighbours 4711 --kind entity --json | jq -r '.[].name'
    """
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.graph.neighbours(node_id, depth=depth, kind=kind.value, limit=limit)
    rows = [(one.depth, one.id, one.name, one.type) for one in found]
    show_models(found, ("depth", "id", "name", "type"), rows, "No neighbours.", as_json=as_json)


@graph_read.command("path")
@exits
def path(
    start: Annotated[int, typer.Argument(help="Id to begin at.", metavar="FROM", min=1)],
    end: Annotated[int, typer.Argument(help="Id to end at.", metavar="TO", min=1)],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    kind: WhichGraph = Kind.concept,
    as_json: AsJson = False,
) -> None:
    """Show a shortest path over relations in either direction; exit code 1 where there is none.

    [bold]Examples[/bold]

      ragbase graph path 17 23
      ragbase graph path 4711 4712 --kind entity --json
    """
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.graph.path(start, end, kind=kind.value)
    rows = [(one.id, one.name, one.type) for one in found]
    show_models(found, ("id", "name", "type"), rows, "", as_json=as_json)


@graph_read.command("communities")
@exits
def communities(
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: CollectionName = None,
    kind: WhichGraph = Kind.concept,
    as_json: AsJson = False,
) -> None:
    """Show the communities of a graph, the largest first, with some of their members.

    [bold]Examples[/bold]

      ragbase graph communities --kind entity
      ragbase graph communities --json | jq 'group_by(.community_id) | map(length)'
    """
    from itertools import groupby

    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.graph.communities(kind=kind.value, collection=collection)
    rows: list[tuple[object, ...]] = []
    for number, members in groupby(found, key=lambda one: one.community_id):
        names = [one.name for one in members]
        more = f" … and {len(names) - 8:,} more" if len(names) > 8 else ""
        rows.append((number, len(names), ", ".join(names[:8]) + more))
    columns = ("community", "nodes", "members")
    show_models(found, columns, rows, "Nothing in this graph.", as_json=as_json)


@graph_read.command("stats")
@exits
def graph_stats(
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Only of this collection.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count concepts, entities and the relations between them.

    [bold]Examples[/bold]

      ragbase graph stats
      ragbase graph stats --collection wiki --json | jq .entities
    """
    from ragbase.cli.console import print_json
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.graph.counts(collection=collection)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    rows = [
        ("concepts", found.concepts, found.relations),
        ("entities", found.entities, found.entity_relations),
    ]
    show_models([found], ("graph", "nodes", "relations"), rows, "", as_json=False)


def _show_search(answer: GraphSearchResponse) -> None:
    from rich.text import Text

    from ragbase.cli.console import printable, stdout

    out = stdout()
    for warning in answer.warnings:
        out.print(Text(f"! {printable(warning.message)} ({warning.code})", style="yellow"))
    for match in answer.matched_entities:
        line = Text(printable(match.name), style="bold cyan").append(
            f"  {printable(match.type)}  by {match.match_method} of “{printable(match.source_phrase)}”",
            style="not bold dim",
        )
        out.print(line)
    for edge in answer.subgraph.edges:
        said = edge.keywords or edge.relation.partition("\n")[0]
        out.print(Text(printable(f"  {edge.source} → {edge.target}  {said}")), overflow="ellipsis")
    for rank, chunk in enumerate(answer.chunks, start=1):
        title = printable(chunk.document_title or "")
        out.print(Text(f"{rank:>2}  ", style="dim").append(title, style="bold"))
        text = printable(chunk.text)
        cut = " …" if len(text) > CHUNK_CHARS else ""
        out.print(Text(f"    {text[:CHUNK_CHARS]}{cut}"))
    trace = answer.trace
    out.print(
        f"{trace.n_matched_nodes} entities named, {trace.n_subgraph_nodes} nodes, "
        f"{trace.n_subgraph_edges} relations, {len(answer.chunks)} chunks "
        f"· {trace.latency_ms:.1f} ms",
        style="dim",
    )
