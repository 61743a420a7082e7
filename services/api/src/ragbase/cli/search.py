"""``ragbase search``: ask a running RagBase from a terminal."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.errors import exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, AsJson, CollectionName, Url, json_object

if TYPE_CHECKING:
    from ragbase.sdk import SearchOptions

__all__ = ["search"]


class SearchMode(StrEnum):
    """What to rank by."""

    hybrid = "hybrid"
    keyword = "keyword"
    semantic = "semantic"


@exits
def search(
    query: Annotated[
        str, typer.Argument(help="What to look for.", metavar="QUERY", show_default=False)
    ],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: CollectionName = None,
    mode: Annotated[
        SearchMode, typer.Option("--mode", "-m", help="Both arms fused, or one alone.")
    ] = SearchMode.hybrid,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=100, help="Rows to show.")] = 10,
    filter_: Annotated[
        str | None,
        typer.Option("--filter", "-f", help="Metadata filter as JSON.", metavar="JSON"),
    ] = None,
    rerank: Annotated[
        bool | None,
        typer.Option(
            "--rerank/--no-rerank",
            help="Let a reranker order the best rows, or not. Left out: where there is one.",
            show_default=False,
        ),
    ] = None,
    rerank_model: Annotated[
        str | None,
        typer.Option("--rerank-model", metavar="NAME", help="Which reranker; else `default`."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show rank and score of each arm and stage.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Search, and show what was found by which arm.

    [bold]Examples[/bold]

      ragbase search "where do ships moor"
      ragbase search "QX-4471-B" --mode keyword -k 3
      ragbase search "when is high water" --rerank-model qwen-4b
      ragbase search storms --filter '{"year": {"gte": 2020}}' --explain
      ragbase search tides --json | jq -r '.results[].document_title'
    """
    from ragbase.cli.console import print_json, stdout
    from ragbase.cli.render import render_answer
    from ragbase.sdk import Client

    options: SearchOptions = {"top_k": top_k, "explain": explain}
    if collection is not None:
        options["collection"] = collection
    if rerank is not None:
        options["rerank"] = rerank
    if rerank_model is not None:
        options["rerank_model"] = rerank_model
    condition = json_object(filter_, "--filter")
    if condition is not None:
        options["filter"] = condition
    with Client(url, api_key) as client:
        answer = client.search(query, mode=mode.value, **options)
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        render_answer(stdout(), answer, mode.value)
