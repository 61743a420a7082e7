"""``llms.txt`` (https://llmstxt.org): what the product is and where to read on, for assistants."""

from __future__ import annotations

import re
from pathlib import Path

from ragbase.errors import ConfigurationError

__all__ = ["llms_page"]

_LINK = re.compile(r"^\s*- \[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\):? ?(?P<what>.*)$")
_HEADING = re.compile(r"^## (.+)$")

SUMMARY = """\
# RagBase

> Hybrid retrieval over one Postgres: exact BM25 and vectors, fused, filtered, explained, behind a REST API. It
> retrieves; it does not write answers.

`ragbase up` starts it on http://127.0.0.1:5050 with a Postgres and an embedder of its own; `ragbase serve`
runs it on the Postgres of `DATABASE_URL`. POST a document to `/v1/documents`, ask `/v1/search`. The page
"HTTP API" below has every route, field and error; read it before writing a client. Python: `from ragbase.sdk
import Client, AsyncClient`.
"""


def llms_page(root: Path) -> str:
    """Out of the index of the documentation, ``docs/README.md`` below ``root``."""
    index = root / "docs" / "README.md"
    try:
        lines = index.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read {index}: {error.strerror}. Give the folder of the checkout with --root."
        ) from error
    parts = [SUMMARY]
    heading: str | None = "Docs"
    for line in lines:
        if found := _HEADING.match(line):
            heading = found[1]
        elif link := _LINK.match(line):
            if heading is not None:
                parts.append(f"\n## {heading}\n\n" if len(parts) > 1 else f"## {heading}\n\n")
                heading = None
            what = f": {link['what']}" if link["what"] else ""
            parts.append(f"- [{link['title']}]({_from_root(link['path'])}){what}\n")
    return "\n".join([parts[0], "".join(parts[1:])])


def _from_root(path: str) -> str:
    """A link of ``docs/README.md`` as seen from the top of the repository."""
    return path if "://" in path else f"docs/{path}".replace("docs/../", "")
