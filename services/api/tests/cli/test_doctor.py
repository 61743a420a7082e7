"""What `ragbase doctor` and `ragbase migrate` say of real databases and machines."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ragbase.cli import checks
from ragbase.cli.app import app

from ..llm_server import MODEL, Talker, talking
from ..model_server import Stub, running

runner = CliRunner()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATABASE_URL", "EMBEDDING_URL", "EMBEDDING_MODEL", "RAGBASE_LEXICAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAGBASE_HOME", str(tmp_path / "home"))


def doctor(*options: str, **environment: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code, and the checks by name."""
    result = runner.invoke(app, ["doctor", "--json", *options], env=environment)
    report = json.loads(result.stdout)
    assert report["ok"] == (result.exit_code == 0)
    return result.exit_code, {check["name"]: check for check in report["checks"]}


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return str(probe.getsockname()[1])


def test_a_machine_that_can_run_it() -> None:
    code, found = doctor("--port", free_port())
    assert {name: check["state"] for name, check in found.items()} == {
        "Python": "ok",
        "State folder": "ok",
        "Disk": "ok",
        "Postgres": "ok",
        "Model": "ok",
        "Reranker": "ok",
        "Port": "ok",
        "GGUF models": "ok",
    }
    assert code == 0
    assert "384 dimensions" in found["Model"]["found"]


def test_text_has_a_mark_and_a_next_step_each() -> None:
    result = runner.invoke(app, ["doctor"], env={"EMBEDDING_MODEL": "/no/such/model"})
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("✓ Python")
    failed = next(place for place, line in enumerate(lines) if line.startswith("✗ Model"))
    assert "→ " in lines[failed + 1]
    assert "Traceback" not in result.output


def test_a_migrated_database(database_url: str) -> None:
    _, found = doctor(DATABASE_URL=database_url)
    assert found["Schema"]["found"] == "current (native)"
    assert found["pgvector"]["state"] == "ok"
    assert int(found["Postgres"]["found"].split(".")[0]) >= 15
    assert "native BM25" in found["pg_search"]["found"]


def test_a_database_without_schema_says_migrate(empty_database_url: str) -> None:
    code, found = doctor(DATABASE_URL=empty_database_url)
    assert code == 1
    assert found["Schema"]["state"] == "failed"
    assert found["Schema"]["hint"] == "Run `ragbase migrate`."
    migrated = runner.invoke(app, ["migrate", "--json"], env={"DATABASE_URL": empty_database_url})
    assert migrated.exit_code == 0, migrated.output
    assert json.loads(migrated.stdout)["changed"]
    assert doctor(DATABASE_URL=empty_database_url)[1]["Schema"]["state"] == "ok"
    again = runner.invoke(app, ["migrate"], env={"DATABASE_URL": empty_database_url})
    assert "✓ Schema is up to date (native)" in again.stdout


def test_pg_search_that_was_asked_for_and_is_not_there(database_url: str) -> None:
    _, found = doctor(DATABASE_URL=database_url, RAGBASE_LEXICAL="paradedb")
    assert found["pg_search"]["state"] == "failed"
    assert "RAGBASE_LEXICAL=native" in found["pg_search"]["hint"]


@pytest.mark.parametrize(
    "url", ["postgresql://nobody:wrong@127.0.0.1:1/none", "not a url", "postgresql://h:port/x"]
)
def test_a_database_that_is_not_there(url: str) -> None:
    code, found = doctor(DATABASE_URL=url)
    assert code == 1
    assert found["Postgres"]["state"] == "failed"
    assert "wrong" not in json.dumps(found)


def test_a_reranker_that_answers_and_one_that_does_not() -> None:
    stub = Stub(model_type={"reranker": {}}, model_id="acme/ranks")
    with running(stub):
        code, found = doctor(RERANKER_URL=stub.url)
        assert (code, found["Reranker"]["state"]) == (0, "ok")
        assert found["Reranker"]["found"] == "default: acme/ranks"
    code, found = doctor(RERANKER_URL=stub.url)
    assert (code, found["Reranker"]["state"]) == (0, "warning")
    assert "cannot be reached" in found["Reranker"]["found"]


def test_a_language_model_that_answers_one_that_does_not_and_a_prompt_that_cannot_work(
    tmp_path: Path,
) -> None:
    talker = Talker()
    with talking(talker):
        code, found = doctor(LLM_BASE_URL=talker.url)
        assert (code, found["Language model"]["found"]) == (0, f"llm: {MODEL}")
    code, found = doctor(LLM_BASE_URL=talker.url)
    assert (code, found["Language model"]["state"]) == (0, "warning")
    assert "cannot be reached" in found["Language model"]["found"]
    (tmp_path / "contextual_retrieval.md").write_text("nothing")
    code, found = doctor(RAGBASE_PROMPTS_DIR=str(tmp_path))
    assert (code, found["Language model"]["state"]) == (1, "failed")


def test_without_a_reranker_the_one_that_would_be_fetched_is_named() -> None:
    assert "cross-encoder/ms-marco-MiniLM-L6-v2" in doctor()[1]["Reranker"]["found"]
    assert doctor(RERANK_ENABLED="false")[1]["Reranker"]["found"] == "none is configured"


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        _, found = doctor("--port", port)
    assert port in found["Port"]["found"]
    assert "process" in found["Port"]["found"]


def test_a_state_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _, found = doctor("--home", str(tmp_path / "file" / "home"))
    assert found["State folder"]["state"] == "failed"


@pytest.mark.parametrize(("free", "state"), [(10**8, "failed"), (10**9, "warning"), (10**11, "ok")])
def test_disk_space(monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: type("U", (), {"free": free}))
    _, found = doctor()
    assert found["Disk"]["state"] == state
