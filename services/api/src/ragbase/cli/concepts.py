"""``ragbase concepts``: a graph of one's own, drawn and looked at from a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragbase.cli.console import show_models
from ragbase.cli.errors import exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, AsJson, CollectionName, Url, json_object

if TYPE_CHECKING:
    from ragbase.models.concepts import ConceptOut, RelationOut

__all__ = ["concepts"]

concepts = typer.Typer(
    name="concepts",
    no_args_is_help=True,
    help="List, draw and remove concepts and the relations between them.",
)
ConceptId = Annotated[int, typer.Argument(help="The concept's id.", metavar="ID", min=1)]
Name = Annotated[str, typer.Argument(help="The concept's name, as stored.", metavar="NAME")]
MetadataJson = Annotated[
    str | None, typer.Option("--metadata", metavar="JSON", help="A JSON object to keep with it.")
]


@concepts.command("list")
@exits
def list_concepts(
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Only of this collection.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", "-t", help="Only names that hold this, in any case.")
    ] = None,
    concept_type: Annotated[str | None, typer.Option("--type", help="Only of this type.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Rows to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show concepts, by name.

    [bold]Examples[/bold]

      ragbase concepts list --text fusion
      ragbase concepts list --type Method -n 100 --json | jq -r '.[].name'
    """
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.concepts.list(
            text=text, concept_type=concept_type, collection=collection, limit=limit
        )
    _show_concepts(found, as_json=as_json)


@concepts.command("put")
@exits
def put_concept(
    name: Annotated[str, typer.Argument(help="Its name.", metavar="NAME")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: CollectionName = None,
    concept_type: Annotated[
        str, typer.Option("--type", help="What kind of thing it is.")
    ] = "Entity",
    description: Annotated[str, typer.Option("--description", "-d", help="What it is.")] = "",
    metadata: MetadataJson = None,
    as_json: AsJson = False,
) -> None:
    """Store a concept; one of the very same name is replaced.

    [bold]Examples[/bold]

      ragbase concepts put "Hybrid search" --type Method
      ragbase concepts put BM25 -d "Okapi's ranking" --metadata '{"k1": 1.2}'
    """
    from ragbase.sdk import Client

    options: Any = {"type": concept_type, "description": description, **_given(collection)}
    values = json_object(metadata, "--metadata")
    if values is not None:
        options["metadata"] = values
    with Client(url, api_key) as client:
        _show_concepts([client.concepts.put(name, **options)], as_json=as_json)


@concepts.command("show")
@exits
def show_concept(
    concept_id: ConceptId, url: Url = DEFAULT_URL, api_key: ApiKey = None, as_json: AsJson = False
) -> None:
    """Show a concept with the relations that start at it.

    [bold]Examples[/bold]

      ragbase concepts show 17
      ragbase concepts show 17 --json | jq '.relations[].target'
    """
    from ragbase.cli.console import print_json, printable, stdout
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.concepts.get(concept_id)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    _show_concepts([found], as_json=False)
    for relation in found.relations:
        said = f"  {relation.relation_type} → {relation.target} ({relation.target_id})"
        stdout().print(printable(said), markup=False)


@concepts.command("delete")
@exits
def delete_concept(concept_id: ConceptId, url: Url = DEFAULT_URL, api_key: ApiKey = None) -> None:
    """Remove a concept and all its relations.

    [bold]Examples[/bold]

      ragbase concepts delete 17
      ragbase concepts list --type Draft --json | jq '.[].id' | xargs -n1 ragbase concepts delete
    """
    from ragbase.cli.console import stdout
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        client.concepts.delete(concept_id)
    stdout().print(f"Concept {concept_id} removed.")


@concepts.command("relate")
@exits
def relate(
    source: Annotated[str, typer.Argument(help="Name of the concept that it starts at.")],
    relation_type: Annotated[str, typer.Argument(help="What it is.", metavar="TYPE")],
    target: Annotated[str, typer.Argument(help="Name of the concept that it leads to.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: CollectionName = None,
    metadata: MetadataJson = None,
    as_json: AsJson = False,
) -> None:
    """Relate two concepts; the same relation again is replaced.

    [bold]Examples[/bold]

      ragbase concepts relate BM25 "part of" "Hybrid search"
      ragbase concepts relate Ada knows Babbage --metadata '{"since": 1833}'
    """
    from ragbase.sdk import Client

    options: Any = _given(collection)
    values = json_object(metadata, "--metadata")
    if values is not None:
        options["metadata"] = values
    with Client(url, api_key) as client:
        made = client.relations.put(source, target, relation_type, **options)
    _show_relations([made], as_json=as_json)


@concepts.command("relations")
@exits
def list_relations(
    name: Name,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: CollectionName = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="Rows to show.")
    ] = 100,
    as_json: AsJson = False,
) -> None:
    """Show the relations that start or end at a concept.

    [bold]Examples[/bold]

      ragbase concepts relations BM25
      ragbase concepts relations Ada --json | jq -r '.[] | [.source, .target] | @tsv'
    """
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.relations.list(name, collection=collection, limit=limit)
    _show_relations(found, as_json=as_json)


@concepts.command("unrelate")
@exits
def unrelate(
    relation_id: Annotated[int, typer.Argument(help="The relation's id.", metavar="ID", min=1)],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Remove a relation; its concepts stay.

    [bold]Examples[/bold]

      ragbase concepts unrelate 4
      ragbase concepts relations Ada --json | jq '.[].id' | xargs -n1 ragbase concepts unrelate
    """
    from ragbase.cli.console import stdout
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        client.relations.delete(relation_id)
    stdout().print(f"Relation {relation_id} removed.")


def _given(collection: str | None) -> dict[str, Any]:
    return {} if collection is None else {"collection": collection}


def _show_concepts(found: Sequence[ConceptOut], *, as_json: bool) -> None:
    rows = [(one.id, one.name, one.type, one.description) for one in found]
    show_models(found, ("id", "name", "type", "description"), rows, "No concepts.", as_json=as_json)


def _show_relations(found: Sequence[RelationOut], *, as_json: bool) -> None:
    rows = [(one.id, one.source, one.relation_type, one.target) for one in found]
    show_models(found, ("id", "source", "type", "target"), rows, "No relations.", as_json=as_json)
