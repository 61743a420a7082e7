"""Commands without a server: arguments, plans, refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragbase import __version__
from ragbase.cli.app import app

runner = CliRunner()
COMMANDS = [
    "up", "serve", "localrag", "worker", "migrate", "backup", "backups", "restore", "doctor", "settings", "reference",
    "ingest", "search", "delete", "stats", "eval", "bench",
]  # fmt: skip
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "RAGBASE_API_URL", "RAGBASE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_help_lists_every_command() -> None:
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    assert all(f" {name} " in result.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", ["backup", "backups", "restore"])
def test_without_a_folder_the_next_step_is_of_the_same_command(name: str) -> None:
    result = runner.invoke(app, [name], env={"RAGBASE_BACKUP_DIR": ""})
    assert result.exit_code == 2
    assert f"`ragbase {name} FOLDER`" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples(name: str) -> None:
    result = runner.invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert "Examples" in result.stdout
    assert result.stdout.count(f"ragbase {name}") >= 2


def test_help_imports_nothing_heavy() -> None:
    """Imports decide how fast help is: seconds depend on the machine, modules do not."""
    program = (
        "import sys; sys.argv = ['ragbase', '--help']\n"
        "from ragbase.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = set(done.stderr.split())
    heavy = {"asyncio", "pydantic", "httpx", "fastapi", "uvicorn", "asyncpg", "numpy", "sqlalchemy"}
    assert "typer" in loaded
    assert loaded & heavy == set()


def test_version() -> None:
    result = runner.invoke(app, ["--version"])
    assert result.stdout == f"ragbase {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["unknown"],
        ["search"],
        ["search", "x", "--mode", "magic"],
        ["search", "x", "--top-k", "0"],
        ["search", "x", "--filter", "{oops"],
        ["search", "x", "--filter", "[1]"],
        ["ingest", "/no/such/path"],
        ["eval", "/no/such/dataset"],
        ["eval", "builtin", "--split", "third"],
        ["bench", "--format", "xml"],
        ["serve"],
        ["migrate"],
        ["settings", "--json", "--markdown"],
    ],
)
def test_wrong_usage_is_exit_code_2_without_a_traceback(arguments: list[str]) -> None:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.strip()


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "tides"],
        ["eval", "builtin"],
        ["bench"],
        ["bench", "--collection", "c"],
    ],
)
def test_a_server_that_is_not_there_is_exit_code_1(arguments: list[str]) -> None:
    result = runner.invoke(app, [*arguments, "--url", NOWHERE])
    assert result.exit_code == 1
    assert f"nothing answers at {NOWHERE}" in result.stderr
    assert "ragbase up" in result.stderr


def test_a_wrong_setting_is_exit_code_2_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_OVERLAP", "600")
    result = runner.invoke(app, ["migrate"])
    assert result.exit_code == 2
    assert "CHUNK_OVERLAP (600) must be below CHUNK_SIZE (512)" in result.stderr


def test_dry_run_lists_what_would_be_sent(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A")
    (tmp_path / "b.txt").write_text("b" * 2000)
    result = runner.invoke(app, ["ingest", str(tmp_path), "--dry-run"])
    assert result.exit_code == 0
    assert "2.0 kB  b.txt" in result.stdout
    assert "2 documents" in result.stdout
    plan = json.loads(runner.invoke(app, ["ingest", str(tmp_path), "--dry-run", "--json"]).stdout)
    assert plan["documents"] == [
        {"external_id": "a.md", "bytes": 3},
        {"external_id": "b.txt", "bytes": 2000},
    ]


def test_an_empty_folder_is_a_usage_error(tmp_path: Path) -> None:
    result = runner.invoke(app, ["ingest", str(tmp_path)])
    assert result.exit_code == 2
    assert "nothing to ingest" in result.stderr


def test_a_lost_server_says_how_far_it_got(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    result = runner.invoke(app, ["ingest", str(tmp_path), "--url", NOWHERE])
    assert result.exit_code == 1
    assert "0 of 1 documents were stored" in result.stderr
    assert "repeat the command" in result.stderr
