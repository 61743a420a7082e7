"""Commands against the real API."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from ragbase.cli.app import app

from ..live_client import client, collection

__all__ = ["client", "collection", "run_live"]


@pytest.fixture
def run_live(api_url: str) -> Callable[..., Result]:
    """Runs a command against the API."""

    def run(*arguments: str) -> Result:
        environment = {"RAGBASE_API_URL": api_url, "COLUMNS": "200"}
        return CliRunner().invoke(app, list(arguments), env=environment)

    return run
