"""``ragbase reference``: the pages that are made out of the code."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ragbase.cli.errors import CliError, UsageError, exits

__all__ = ["PAGES", "Page", "reference"]


class Page(StrEnum):
    """What can be printed."""

    api = "api"
    openapi = "openapi"
    openapi_localrag = "openapi-localrag"
    cli = "cli"
    settings = "settings"
    env = "env"
    llms = "llms"


PAGES = {
    Page.api: "docs/api.md",
    Page.openapi: "docs/openapi.json",
    Page.openapi_localrag: "docs/openapi-localrag.json",
    Page.cli: "docs/cli.md",
    Page.settings: "docs/settings.md",
    Page.env: ".env.example",
    Page.llms: "llms.txt",
}
"""Where each page lies in the repository; `llms` comes last, it reads the others' index."""


@exits
def reference(
    page: Annotated[
        Page | None, typer.Argument(help="Which one to print.", show_default=False)
    ] = None,
    root: Annotated[Path, typer.Option("--root", help="Folder of the checkout.")] = Path(),
    write: Annotated[bool, typer.Option("--write", help="Write all pages into --root.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Name the pages in --root that are out of date.")
    ] = False,
) -> None:
    """Print a page that is made out of the code.

    The HTTP API on one page (api), the OpenAPI documents (openapi, openapi-localrag), the commands (cli), the settings
    as a table (settings) or as a commented .env file (env), an index for coding assistants (llms).
    None of them depends on the environment.

    [bold]Examples[/bold]

      ragbase reference openapi > openapi.json
      ragbase reference --write
      ragbase reference --check
    """
    from ragbase.cli.console import write as write_out

    if (page is not None) + write + check != 1:
        raise UsageError("name one page, or give one of --write and --check")
    if page is not None:
        write_out(_maker(page)(root))
    elif write:
        for each, path in PAGES.items():
            (root / path).write_text(_maker(each)(root), encoding="utf-8")
    else:
        _check(root)


def _check(root: Path) -> None:
    stale = [path for page, path in PAGES.items() if _stored(root / path) != _maker(page)(root)]
    if stale:
        raise CliError(f"Out of date: {', '.join(stale)}", "`make docs` writes them again.")


def _stored(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _maker(page: Page) -> Callable[[Path], str]:
    """The function that makes a page; imports only what that one needs."""
    match page:
        case Page.api:
            from ragbase.cli.reference_api import api_page

            return lambda _: api_page()
        case Page.openapi:
            from ragbase.cli.reference_api import openapi_page

            return lambda _: openapi_page()
        case Page.openapi_localrag:
            from ragbase.cli.reference_api import openapi_localrag_page

            return lambda _: openapi_localrag_page()
        case Page.cli:
            from ragbase.cli.reference_commands import commands_page

            return lambda _: commands_page()
        case Page.settings:
            from ragbase.cli.catalogue import as_markdown, catalogue

            return lambda _: as_markdown(catalogue())
        case Page.env:
            from ragbase.cli.catalogue import as_env, catalogue

            return lambda _: as_env(catalogue())
        case Page.llms:
            from ragbase.cli.reference_llms import llms_page

            return llms_page
