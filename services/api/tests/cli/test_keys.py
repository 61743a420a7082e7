"""`ragbase keys` on a real database, and how commands take a key."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from ragbase.cli.app import app
from ragbase.cli.keys import _end
from ragbase.errors import ConfigurationError
from ragbase.main import create_app
from ragbase.services.keys_format import key_id_of, new_key
from ragbase.settings import Settings

runner = CliRunner()
KEY = re.compile(r"rb_[a-z0-9]{12}_[A-Za-z0-9]{43}\n")


@pytest.fixture
def on_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("RAGBASE_HOME", "RAGBASE_API_KEY", "RAGBASE_API_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", database_url)
    return database_url


def run(*arguments: str) -> str:
    result = runner.invoke(app, ["keys", *arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_generate_prints_a_key_that_a_server_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    printed = run("generate")
    assert KEY.fullmatch(printed)
    create_app(Settings(admin_key=printed.strip()))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        create_app(Settings(admin_key=printed.strip()[:-1]))  # type: ignore[arg-type]


def test_a_key_is_made_listed_and_ended(on_database: str) -> None:
    key = run("create", "--name", "ops", "--scope", "admin")
    assert KEY.fullmatch(key)  # nothing else on standard output: `KEY=$(ragbase keys create …)`
    made = json.loads(
        run("create", "-n", "wiki", "-s", "read", "-s", "write", "-c", "wiki", "-e", "1d", "--json")
    )
    assert (made["scopes"], made["collections"]) == (["read", "write"], ["wiki"])
    listed = json.loads(run("list", "--json"))
    assert [row["name"] for row in listed] == ["wiki", "ops"]
    assert "key" not in listed[0]
    assert key.strip() not in run("list")
    ended = json.loads(run("revoke", made["id"], "--json"))
    assert ended["revoked_at"]
    assert "revoked" in run("list")


def test_the_first_key_of_a_server_can_be_made_beside_it(on_database: str, serve: object) -> None:
    assert callable(serve)
    url = serve(create_app(Settings(database_url=on_database, pool_min=0, auth="on")))  # type: ignore[arg-type]
    assert httpx.get(f"{url}/v1/collections").status_code == 401
    key = run("create", "-n", "first").strip()
    answer = httpx.get(f"{url}/v1/collections", headers={"authorization": f"Bearer {key}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "arguments",
    [
        ["create"],
        ["create", "-n", ""],
        ["create", "-n", "k", "-s", "root"],
        ["create", "-n", "k", "-c", "Not A Name"],
        ["create", "-n", "k", "-e", "soon"],
        ["create", "-n", "k", "-e", "2001-01-01"],
        ["create", "-n", "k", "-e", "9999999d"],
        ["revoke"],
    ],
)
def test_wrong_arguments_are_exit_code_2_and_make_nothing(
    on_database: str, arguments: list[str]
) -> None:
    result = runner.invoke(app, ["keys", *arguments])
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert json.loads(run("list", "--json")) == []


def test_an_unknown_id_is_exit_code_1(on_database: str) -> None:
    result = runner.invoke(app, ["keys", "revoke", "abcdefghijkl"])
    assert result.exit_code == 1
    assert "no stored key" in result.stderr


def test_without_a_database_it_says_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    result = runner.invoke(app, ["keys", "list", "--home", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "DATABASE_URL" in result.stderr


def test_without_a_schema_it_says_to_migrate(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_database_url)
    result = runner.invoke(app, ["keys", "list"])
    assert result.exit_code == 2
    assert "ragbase migrate" in result.stderr


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1800), ("12h", 43_200), ("90d", 90 * 86_400), ("2w", 1_209_600)]
)
def test_a_life_is_counted_from_now(text: str, seconds: int) -> None:
    now = datetime.now(UTC)
    assert _end(text, now) - now == timedelta(seconds=seconds)


def test_a_date_without_a_zone_is_utc() -> None:
    assert _end("2999-12-31", datetime.now(UTC)) == datetime(2999, 12, 31, tzinfo=UTC)
    assert _end("2999-12-31T00:00:00+02:00", datetime.now(UTC)).utcoffset() == timedelta(hours=2)


def heard_key(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], environment: dict[str, str]
) -> object:
    """The key with which `ragbase search` would call."""
    heard: list[object] = []

    class Stop(Exception):  # noqa: N818 - never seen outside
        pass

    def client(url: str, api_key: str | None) -> object:
        heard.append(api_key)
        raise Stop

    monkeypatch.setattr("ragbase.sdk.Client", client)
    for name in ("RAGBASE_API_KEY", "RAGBASE_API_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    result = runner.invoke(app, ["search", "q", *arguments], env=environment)
    assert isinstance(result.exception, Stop), result.stderr
    return heard[0]


def test_commands_take_a_key_from_a_file_or_the_environment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("rb_of_file\n")
    given = {"RAGBASE_API_KEY": "rb_of_environment"}
    assert heard_key(monkeypatch, [], {}) is None
    assert heard_key(monkeypatch, [], given) == "rb_of_environment"
    assert heard_key(monkeypatch, ["--api-key-file", str(file)], given) == "rb_of_file"
    assert heard_key(monkeypatch, [], {"RAGBASE_API_KEY_FILE": str(file)}) == "rb_of_file"
    refused = runner.invoke(app, ["search", "q", "--api-key", new_key().text])
    assert (refused.exit_code, key_id_of(refused.stderr)) == (2, None)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_key_file_that_cannot_be_read_is_exit_code_2(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    result = runner.invoke(app, ["search", "q", "--api-key-file", str(file)])
    assert result.exit_code == 2
    assert "api-key-file" in result.stderr
    assert "Traceback" not in result.stderr
