"""How commands end."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from ragbase.cli.errors import CliError, UsageError, guarded
from ragbase.errors import ConfigurationError, DatabaseUnavailableError, InvalidInputError
from ragbase.sdk import ApiError, ConnectionFailedError, TimedOutError
from ragbase.settings import Settings


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CliError("broken", "mend it"), 1, ["✗ broken", "→ mend it"]),
        (UsageError("wrong"), 2, ["✗ wrong"]),
        (ConfigurationError("bad setting"), 2, ["✗ bad setting", "ragbase doctor"]),
        (ConfigurationError("Port taken. Use another."), 2, ["✗ Port taken\n", "→ Use another."]),
        (InvalidInputError("bad file"), 2, ["✗ bad file"]),
        (DatabaseUnavailableError("no database"), 1, ["✗ no database"]),
        (ConnectionFailedError("nothing answers"), 1, ["✗ nothing answers", "ragbase up"]),
        (TimedOutError("too slow"), 1, ["✗ too slow", "Try again"]),
        (
            ApiError("failed", status=500, code="internal_error", request_id="r9"),
            1,
            ["✗ failed (500 internal_error)", "request id r9"],
        ),
        (
            ApiError("no key", status=401, code="missing_key"),
            1,
            ["RAGBASE_API_KEY", "--api-key-file", "ragbase keys create"],
        ),
        (ApiError("bad key", status=401, code="invalid_key"), 1, ["RAGBASE_API_KEY", "keys list"]),
        (ApiError("no scope", status=403, code="scope_missing"), 1, ["with that scope"]),
        (KeyboardInterrupt(), 130, ["Interrupted"]),
        (BrokenPipeError(), 0, []),
    ],
)
def test_expected_errors_are_a_line_and_a_code(
    error: BaseException,
    code: int,
    said: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ragbase.cli.errors._close_stdout", lambda: None)
    with pytest.raises(typer.Exit) as ended, guarded():
        raise error
    assert ended.value.exit_code == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert all(words in printed.err for words in said), printed.err
    assert "Traceback" not in printed.err


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), (b"\xff", "no UTF-8")])
def test_a_file_of_a_setting_that_cannot_be_read_is_told(
    content: bytes | None,
    reason: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    file = tmp_path / "rerankers.json"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("RAGBASE_RERANKERS_FILE", str(file))
    monkeypatch.delenv("RAGBASE_RERANKERS", raising=False)
    with pytest.raises(typer.Exit) as ended, guarded():
        Settings()
    assert ended.value.exit_code == 2
    assert f"✗ RAGBASE_RERANKERS_FILE: cannot read {file}: {reason}" in capsys.readouterr().err


def test_long_messages_are_not_broken_across_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), guarded():
        raise CliError("word " * 60 + "[bold]not markup[/bold]")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("[bold]not markup[/bold]")


def test_bugs_keep_their_traceback() -> None:
    with pytest.raises(ZeroDivisionError), guarded():
        _ = 1 / 0
