"""The HTTP API on one page, for people and for coding assistants, out of the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ragbase.cli.reference_errors import error_codes
from ragbase.cli.reference_schema import field_lines, type_of

__all__ = ["api_page", "openapi_document", "openapi_localrag_page", "openapi_page"]

Document = dict[str, Any]

INTRODUCTION = """\
# HTTP API

Made by `ragbase reference api` out of the [OpenAPI document](openapi.json); a running server shows
the same under `/docs`.

- Base URL: `http://127.0.0.1:5050` for `ragbase up`, port 8000 for `ragbase serve`.
- Bodies are JSON (`Content-Type: application/json`) unless a route says otherwise; text is UTF-8.
- A key goes into `Authorization: Bearer rb_<id>_<secret>` or `X-API-Key`. Each route below names the scope
  that the key needs; a server that listens on loopback asks for none unless `RAGBASE_AUTH=on`.
- `X-Request-ID` is taken from the request or made, and comes back with every answer.
- Lists answer a JSON array, a page of it where there are `offset` and `limit`.
- 429 and 503 carry `Retry-After` in seconds: wait, then send the request again.

## Examples

```sh
curl -s 127.0.0.1:5050/v1/documents -H 'content-type: application/json' \\
  -d '{"title": "Harbour rules", "content": "Ships moor at the north quay.", "external_id": "rules.md", "metadata": {"year": 2024}}'

curl -s 127.0.0.1:5050/v1/search -H 'content-type: application/json' \\
  -d '{"query": "where do boats tie up", "top_k": 5, "filter": {"year": {"gte": 2020}}}'

curl -s 127.0.0.1:5050/v1/documents/upload -F 'file=@report.pdf' -F 'external_id=report.pdf'
```

A document posted again under the same `external_id` replaces the old one. A search answers its rows in
`results`, best first; `content` is the chunk, `document_id` its document, `score` is of the kind that
`score_kind` names.
"""

ERRORS = """\
## Errors

`{"detail": "what is wrong and what to do", "code": "collection_not_found"}`; `code` is stable, `detail` is for
people. Where a field is at fault the status is 422 and `detail` is a list of
`{"type", "loc", "msg", "input"}`; `loc` leads to the field. The codes, besides those that a route above
names by itself:
"""


def openapi_document() -> Document:
    """The OpenAPI document of a server with default settings, whatever this environment says."""
    from ragbase.main import create_app
    from ragbase.settings import Settings

    document: Document = create_app(Settings.model_construct()).openapi()
    return document


def openapi_page() -> str:
    """The document as a file; keys in the order in which the code defines them."""
    return _written(openapi_document())


def openapi_localrag_page() -> str:
    """The same of the second API."""
    from ragbase.main_localrag import create_localrag_app
    from ragbase.settings import Settings

    return _written(create_localrag_app(Settings.model_construct()).openapi())


def _written(document: Document) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def api_page() -> str:
    """The page."""
    document = openapi_document()
    parts = [INTRODUCTION, "## Routes\n", *_routes(document), _errors(), "## Objects\n"]
    return "\n".join([*parts, *_objects(document)])


def _routes(document: Document) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield "\n".join(_route(f"{method.upper()} {path}", operation)) + "\n"


def _route(name: str, operation: Document) -> Iterator[str]:
    scope = operation.get("x-scope")
    yield f"### {name}\n"
    description = str(operation.get("description") or operation.get("summary", "")).strip()
    yield description + (f" Scope: `{scope}`." if scope else "") + "\n"
    for parameter in operation.get("parameters", ()):
        yield _parameter(parameter)
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = content.get("schema", {})
        yield f"- Body, `{kind}`: {type_of(schema)}"
        yield from (f"  {line}" for line in field_lines(schema))
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield f"- {status}: {_answer(answer)}"
    failing = [status for status in operation["responses"] if not status.startswith("2")]
    if failing:
        yield f"- Errors: {', '.join(sorted(failing))}"


def _parameter(parameter: Document) -> str:
    schema = parameter.get("schema", {})
    default = schema.get("default")
    said = f"- {parameter['in'].capitalize()} `{parameter['name']}`: {type_of(schema)}"
    if parameter.get("required"):
        said += ", required"
    elif default is not None:
        said += f" = `{json.dumps(default)}`"
    meaning = str(parameter.get("description") or schema.get("description") or "")
    return said + (f". {' '.join(meaning.split())}" if meaning else "")


def _answer(answer: Document) -> str:
    """Its type, or its description where it has no body that is described."""
    types = [
        type_of(content["schema"])
        for content in answer.get("content", {}).values()
        if content.get("schema")
    ]
    plain = answer.get("description", "").rstrip(".")
    told = "" if plain in ("", "Successful Response") else plain
    if not types:
        return told or "no body"
    return " or ".join(types) + (f" ({told})" if told else "")


def _errors() -> str:
    lines = [
        f"- {status}: " + ", ".join(f"`{code}`" for code in codes)
        for status, codes in error_codes().items()
    ]
    return "\n".join([ERRORS, *lines, ""])


def _objects(document: Document) -> Iterator[str]:
    hidden = ("HTTPValidationError", "ValidationError", "ErrorBody", "ValidationBody")
    for name, schema in document["components"]["schemas"].items():
        if name in hidden:
            continue
        meaning = " ".join(str(schema.get("description", "")).split())
        lines = field_lines(schema) if "properties" in schema else [f"- {type_of(schema)}"]
        yield "\n".join([f"### {name}\n", *([meaning, ""] if meaning else []), *lines, ""])
