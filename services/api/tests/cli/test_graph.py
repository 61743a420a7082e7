"""`ragbase graph` where nothing is projected; with a projection: tests/bolt/test_cli.py."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from ragbase.cli.app import app


@pytest.mark.parametrize("command", ["status", "check", "rebuild"])
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_without_a_store_the_setting_is_named(
    command: str, enabled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if enabled == "false":
        monkeypatch.setenv("MEMGRAPH_URL", "bolt://127.0.0.1:9")
    else:
        monkeypatch.delenv("MEMGRAPH_URL", raising=False)
    monkeypatch.setenv("MEMGRAPH_ENABLED", enabled)
    result = CliRunner().invoke(app, ["graph", command])
    assert result.exit_code == 2
    assert "MEMGRAPH_URL is not set" in result.output
