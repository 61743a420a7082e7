"""``ragbase-inference serve`` as a process: flags, messages, signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from ragbase_inference.cli import build_parser, main

from .background import asking
from .live import Live, wait_until

Start = Callable[..., tuple["subprocess.Popen[str]", Live]]


@pytest.fixture
def start(cache: Path) -> Iterator[Start]:
    """``start("--port", "0")``: the process, and the server once it says that it listens."""
    with ExitStack() as stack:

        def run(*flags: str) -> tuple[subprocess.Popen[str], Live]:
            command = [sys.executable, "-m", "ragbase_inference", "serve", *flags]
            given = ("--hostname", "127.0.0.1", "--port", "0", "--log-format", "json")
            process = subprocess.Popen([*command, *given], stderr=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stderr is not None
            for line in process.stderr:
                words = json.loads(line)["event"].split()
                if words[0] == "listening":
                    url = f"http://127.0.0.1:{words[-1]}"
                    return process, Live(url, stack.enter_context(httpx.Client(base_url=url)))
            raise AssertionError(f"it ended with {process.wait()}")

        yield run


def test_sigterm_lets_requests_finish_and_exits_0(start: Start) -> None:
    process, live = start()
    heavy = {"inputs": ["word " * 254] * 32}
    with asking(live, "/embed", heavy) as answer:
        wait_until(lambda: live.metric('te_batch_next_size_count{model="default"}') > 0)
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: not is_open(live))
        assert not answer.done()
    assert answer.result().status_code == 200
    assert process.wait(20) == 0


def is_open(live: Live) -> bool:
    address = httpx.URL(live.url)
    try:
        socket.create_connection((address.host, address.port or 0), 1).close()
    except ConnectionError:
        return False
    return True


def test_sigint_ends_it_too(start: Start) -> None:
    process, live = start("--lazy")
    assert live.get("/v1/models").json()["data"][0]["state"] == "unloaded"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


def test_sigterm_ends_a_load(tmp_path: Path) -> None:
    """Nothing is converted yet in this cache: that takes seconds."""
    environment = {**os.environ, "RAGBASE_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "ragbase_inference", "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "converting" in line:
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert "listening" not in process.stderr.read()


def test_a_port_in_use_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--hostname", "127.0.0.1", "--port", port]) == 1
    assert f"port {port}" in capsys.readouterr().err


def test_a_model_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["serve", "--hostname", "127.0.0.1", "--port", "0", "--model-id", "./nowhere"]
    assert main(arguments) == 1
    assert "./nowhere is not a folder that holds a config.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--port", "many"], "--port (PORT): "),
        (["--max-client-batch-size", "0"], "--max-client-batch-size (MAX_CLIENT_BATCH_SIZE): "),
        (["--model", "x"], "'x' is not of the form name=id"),
        (["--dtype", "float8"], "--dtype (DTYPE): "),
        (["--hostname", "127.0.0.l"], "--hostname (HOSTNAME): '127.0.0.l' is no address"),
    ],
)
def test_wrong_values_name_flag_and_variable(
    capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    assert main(["serve", *flags]) == 2
    assert said in capsys.readouterr().err


def test_wrong_values_of_the_environment_are_told_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", "tcp://10.0.0.1:80")
    assert main(["serve"]) == 2
    assert "--port (PORT): " in capsys.readouterr().err


def test_a_file_of_a_secret_that_cannot_be_read_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes(b"\xff")
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path / "key", "no UTF-8")):
        monkeypatch.setenv("API_KEY_FILE", str(path))
        assert main(["serve"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"ragbase-inference: API_KEY_FILE: cannot read {path}: {reason}")


def test_unknown_flags_are_refused() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--modelid", "x"])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        (["--auto-truncate"], "auto_truncate", "true"),
        (["--auto-truncate", "false"], "auto_truncate", "false"),
        (["--lazy"], "lazy", "true"),
        (["--eager"], "lazy", "false"),
        (["--no-batching"], "batching", "false"),
        (["--model", "a=b", "--model", "c=d"], "model", ["a=b", "c=d"]),
        ([], "port", None),
    ],
)
def test_flags_as_tei_takes_them(flags: list[str], name: str, value: object) -> None:
    assert getattr(build_parser().parse_args(["serve", *flags]), name) == value


def test_the_help_names_every_variable(capsys: pytest.CaptureFixture[str]) -> None:
    from ragbase_inference.server.settings import ServerSettings

    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name, field in ServerSettings.model_fields.items():
        assert f"--{name.replace('_', '-')}" in shown
        assert f"env {field.validation_alias.choices[0]}" in shown  # type: ignore[union-attr]
    assert "default 8080" in shown


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("ragbase-inference")
    if not command.exists():
        pytest.skip("the package was installed before it had this command: run make test")
    run = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("ragbase-inference ")
    assert os.access(command, os.X_OK)
