"""A process that does not do what the model's would: it is told of, and ended."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from time import monotonic

import psutil
import pytest

from ragbase_inference.errors import ClosedError
from ragbase_inference.gguf import process as module
from ragbase_inference.gguf.child import ChildOptions
from ragbase_inference.gguf.errors import UnusableFileError
from ragbase_inference.gguf.process import LlamaProcess

OPTIONS = ChildOptions(
    path="m.gguf", kind="chat", socket="", context=1, parallel=1, threads=1, gpu_layers=0
)


class Start:
    """Starts the process with a program of the test's own."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(module, "is_installed", lambda package: True)
        self._patch = patch
        self.stop = threading.Event()

    def __call__(self, program: str, timeout_s: float = 20.0) -> LlamaProcess:
        self._patch.setattr(module, "_COMMAND", [sys.executable, "-c", program])
        return LlamaProcess(OPTIONS, load_timeout_s=timeout_s, stop=self.stop)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    before = len(psutil.Process().children())
    yield Start(monkeypatch)
    assert len(psutil.Process().children()) == before, "none is left"


def test_a_load_that_takes_too_long_is_given_up(start: Start) -> None:
    with pytest.raises(UnusableFileError, match=r"within 0\.3 s"):
        start("import time; time.sleep(600)", timeout_s=0.3)


def test_a_load_that_nobody_wants_any_more_is_given_up(start: Start) -> None:
    begun = monotonic()
    threading.Timer(0.3, start.stop.set).start()
    with pytest.raises(ClosedError):
        start("import time; time.sleep(600)", timeout_s=600)
    assert monotonic() - begun < 20


def test_a_process_that_ends_at_once_is_told_with_its_code(start: Start) -> None:
    with pytest.raises(UnusableFileError, match="exit code 7"):
        start("import sys; sys.exit(7)")


def test_the_last_reason_is_told_unless_it_holds_a_path(start: Start) -> None:
    log = "import sys; print('x: error loading model: {why}', file=sys.stderr); sys.exit(1)"
    with pytest.raises(UnusableFileError, match="no such tensor"):
        start(log.format(why="no such tensor"))
    with pytest.raises(UnusableFileError) as caught:
        start(log.format(why="failed to open /srv/secret/m.gguf"))
    assert "secret" not in str(caught.value)


ANSWERS = "import sys; sys.stdin.readline(); print('{}', flush=True); "


def test_it_ends_with_its_input(start: Start) -> None:
    process = start(ANSWERS + "sys.stdin.read()")
    assert process.alive
    process.close()
    assert not process.alive
    process.close()


def test_one_that_does_not_end_is_killed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_END_S", 0.3)
    process = start(ANSWERS + "import time; time.sleep(600)")
    process.close()
    assert not process.alive


def test_a_log_without_end_is_read_and_only_its_tail_kept(start: Start) -> None:
    program = "import sys\nfor n in range(50_000): print(n, file=sys.stderr)\n" + ANSWERS
    process = start(program + "sys.stdin.read()")
    process.close()
    assert len(process._log) <= 40
