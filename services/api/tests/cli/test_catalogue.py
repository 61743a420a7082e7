"""The list of settings in its forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragbase.cli.app import app
from ragbase.cli.catalogue import as_env, catalogue
from ragbase.settings import Settings

runner = CliRunner()


def test_every_setting_is_listed_with_a_meaning() -> None:
    found = catalogue()
    assert len(found) == len(Settings.model_fields)
    assert len({setting.name for setting in found}) == len(found)
    assert all(setting.meaning.endswith(".") for setting in found), [
        setting.name for setting in found if not setting.meaning.endswith(".")
    ]


def test_names_defaults_secrets_choices_and_aliases() -> None:
    by_name = {setting.name: setting for setting in catalogue()}
    assert by_name["RAGBASE_PORT"].default == "8000"
    assert by_name["RAGBASE_METRICS_PORT"].default == ""
    assert by_name["RAGBASE_ALLOW_INSECURE"].default == "false"
    assert by_name["DATABASE_URL"].secret
    assert not by_name["RAGBASE_HOST"].secret
    assert by_name["RAGBASE_LEXICAL"].choices == ("auto", "native", "paradedb")
    assert by_name["RAGBASE_EMBEDDING_ENGINE"].choices == ("onnx", "tei", "openai")
    assert by_name["RAGBASE_LOG_LEVEL"].aliases == ("API_LOG_LEVEL",)


def test_json_is_for_programs() -> None:
    result = runner.invoke(app, ["settings", "--json"])
    assert result.exit_code == 0
    assert {row["name"] for row in json.loads(result.stdout)} == {s.name for s in catalogue()}


def test_env_is_commented_out_and_complete() -> None:
    lines = as_env(catalogue()).splitlines()
    assert all(line.startswith("#") for line in lines if line)
    assert "# CHUNK_SIZE=512" in lines


def test_markdown_has_a_row_each() -> None:
    result = runner.invoke(app, ["settings", "--markdown"])
    rows = result.stdout.splitlines()
    assert len(rows) == len(catalogue()) + 2
    assert {row.count(" | ") for row in rows[2:]} == {2}


def test_one_form_at_a_time() -> None:
    result = runner.invoke(app, ["settings", "--json", "--env"])
    assert result.exit_code == 2
    assert "choose one" in result.stderr


def test_the_table_names_every_setting() -> None:
    result = runner.invoke(app, ["settings"], env={"COLUMNS": "160"})
    assert all(setting.name in result.stdout for setting in catalogue())


def test_settings_are_read_under_the_listed_names_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every shell has a HOME, and many platforms set HOST and PORT."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    usual = Settings()
    listed = {name for setting in catalogue() for name in (setting.name, *setting.aliases)}
    for name in {name.upper() for name in Settings.model_fields} - listed:
        monkeypatch.setenv(name, "77")
    assert Settings() == usual
    monkeypatch.setenv("RAGBASE_HOME", "/elsewhere")
    monkeypatch.setenv("RAGBASE_PORT", "78")
    assert (str(Settings().home), Settings().port) == ("/elsewhere", 78)


def test_settings_may_come_from_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "database"
    secret.write_text("postgresql://me@localhost/x\n")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("DATABASE_URL_FILE", str(secret))
    assert Settings().database_url.get_secret_value() == "postgresql://me@localhost/x"
