"""Pages made out of the code: complete, the same everywhere, and true."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from ragbase.cli.app import app
from ragbase.cli.reference import PAGES
from ragbase.cli.reference_api import INTRODUCTION, api_page, openapi_document
from ragbase.cli.reference_commands import commands_page, help_text
from ragbase.cli.reference_errors import error_codes
from ragbase.cli.reference_llms import llms_page
from ragbase.cli.reference_schema import field_lines, type_of

ROOT = Path(__file__).resolve().parents[4]


def write_pages(root: Path, **environment: str) -> dict[str, str]:
    """All pages, written by a process of its own in ``root``."""
    (root / "docs").mkdir(parents=True)
    (root / "docs/README.md").write_text("- [Search](search.md): how\n")
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    program = "from ragbase.cli import main; main()"
    subprocess.run(
        [sys.executable, "-c", program, "reference", "--write"],
        check=True,
        cwd=root,
        env={**kept, **environment},
    )
    return {path: (root / path).read_text() for path in PAGES.values()}


def test_no_page_depends_on_the_environment(tmp_path: Path) -> None:
    plain = write_pages(tmp_path / "here")
    other = write_pages(
        tmp_path / "there",
        COLUMNS="40",
        LANG="de_DE.UTF-8",
        RAGBASE_API_URL="http://somewhere.invalid",
        RAGBASE_METRICS_PORT="9999",
        RAGBASE_MAX_BATCH="7",
        RAGBASE_HOST="0.0.0.0",
        DEFAULT_SEARCH_TOP_K="3",
        FORCE_COLOR="1",
    )
    assert other == plain
    machine = (str(tmp_path), str(ROOT), str(Path.home()), "somewhere.invalid", "\x1b")
    assert not [word for word in machine if any(word in page for page in plain.values())]


def test_written_pages_are_fresh_and_changed_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/README.md").write_text("- [Search](search.md): how\n")
    write = CliRunner().invoke(app, ["reference", "--write", "--root", str(tmp_path)])
    assert write.exit_code == 0, write.output
    assert all((tmp_path / path).is_file() for path in PAGES.values())
    arguments = ["reference", "--check", "--root", str(tmp_path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    with (tmp_path / "docs/cli.md").open("a") as page:
        page.write("by hand\n")
    (tmp_path / "llms.txt").unlink()
    stale = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert stale.exit_code == 1
    assert "docs/cli.md, llms.txt" in stale.stderr
    assert "make docs" in stale.stderr


def test_it_wants_one_thing_at_a_time() -> None:
    assert CliRunner().invoke(app, ["reference"]).exit_code == 2
    assert CliRunner().invoke(app, ["reference", "cli", "--check"]).exit_code == 2


def test_the_openapi_page_is_the_document_of_the_server() -> None:
    printed = CliRunner().invoke(app, ["reference", "openapi"])
    assert json.loads(printed.stdout) == openapi_document()


def test_every_operation_with_its_scope_and_every_object_is_on_the_page() -> None:
    page, document = api_page(), openapi_document()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            section = page.partition(f"### {method.upper()} {path}\n")[2].partition("\n### ")[0]
            assert section, (method, path)
            if "x-scope" in operation:
                assert f"Scope: `{operation['x-scope']}`" in section
    for name in document["components"]["schemas"]:
        assert name in page or "Valid" in name or name == "ErrorBody"


async def test_the_examples_of_the_page_work(api_url: str) -> None:
    blocks = re.findall(r"^(curl .*?)(?=\n\n|\n```)", INTRODUCTION, re.M | re.S)
    posted = [shlex.split(block.replace("\\\n", " ")) for block in blocks]
    bodies = [words for words in posted if "-d" in words]
    assert len(bodies) == 2
    async with httpx.AsyncClient(base_url=api_url, timeout=60) as client:
        for words in bodies:
            path = words[2].partition(":5050")[2]
            body = json.loads(words[words.index("-d") + 1])
            body["collection"] = "default"
            answer = await client.post(path, json=body)
            assert answer.is_success, answer.text
        assert "Harbour rules" in answer.text


def test_codes_are_those_that_the_code_raises() -> None:
    codes = error_codes()
    assert "collection_not_found" in codes[404]
    assert {"job_not_ended", "job_succeeded"} <= set(codes[409])  # one expression, two codes
    assert "body_timeout" in codes[408]  # a class that a route module defines
    assert codes[500] == ["internal_error"]
    assert not any("dataset" in code for found in codes.values() for code in found)


def test_every_command_is_on_its_page() -> None:
    page = commands_page()
    listed = set(re.findall(r"^## `ragbase ([a-z]+)", page, re.M))
    root = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    shown = set(re.findall(r"^│ ([a-z]+) ", root, re.M))
    assert shown
    assert shown <= listed
    assert "- `--mode, -m hybrid|keyword|semantic" in page
    assert "- `--url TEXT`: Where the API listens. Default: `http://127.0.0.1:5050`." in page


def test_help_becomes_markdown() -> None:
    text = "Do it.\n\n[bold]Examples[/bold]\n\n  ragbase do\n  ragbase do --again\n\nEnd <n>."
    assert help_text(text) == (
        "Do it.\n\n**Examples**\n\n```sh\nragbase do\nragbase do --again\n```\n\nEnd \\<n>.\n"
    )


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 100}, "integer 1–100"),
        ({"type": "number", "minimum": 0.5}, "number ≥ 0.5"),
        ({"type": "string", "maxLength": 63}, "string (0–63)"),
        ({"type": "array", "items": {"$ref": "#/x/Row"}, "maxItems": 9}, "list of Row (0–9)"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"enum": ["a", "b"], "type": "string"}, '"a" or "b"'),
        ({"const": "rrf"}, '"rrf"'),
        ({}, "any"),
    ],
)
def test_a_type_in_words(schema: dict[str, object], said: str) -> None:
    assert type_of(schema) == said


def test_required_fields_come_first() -> None:
    schema = {
        "properties": {
            "size": {"type": "integer", "default": 5, "description": "How\n many."},
            "name": {"type": "string"},
        },
        "required": ["name"],
    }
    assert field_lines(schema) == [
        "- `name`: string, required",
        "- `size`: integer = `5`. How many.",
    ]


def test_llms_txt_has_the_form_of_llmstxt_org_and_its_links_lead_somewhere() -> None:
    page = llms_page(ROOT)
    lines = page.splitlines()
    assert lines[0] == "# RagBase"
    assert lines[2].startswith("> ")
    after_first_heading = page.partition("\n## ")[2].splitlines()[1:]
    assert all(re.match(r"$|## |- \[.+\]\(.+\)", line) for line in after_first_heading)
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert "docs/api.md" in links
    assert all((ROOT / link).exists() for link in links if "://" not in link)
