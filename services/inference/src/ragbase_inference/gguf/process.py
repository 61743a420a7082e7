"""Starts and ends the process that runs one model."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from dataclasses import asdict, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic

from ragbase_inference.backends.accelerator import is_installed
from ragbase_inference.errors import ClosedError, NotInstalledError
from ragbase_inference.gguf.child import ChildOptions
from ragbase_inference.gguf.errors import UnusableFileError

__all__ = ["LlamaProcess"]

log = logging.getLogger(__name__)

_LOG_LINES = 40
_END_S = 5.0
_LOOK_S = 0.1
"""Between two looks whether the load is still wanted."""
_COMMAND = [sys.executable, "-m", "ragbase_inference.gguf.child"]
_PASSED_ON = (
    "PATH", "HOME", "LANG", "LC_", "TMPDIR", "PYTHON", "LD_", "DYLD_", "OMP_", "GGML_", "LLAMA_",
    "CUDA_", "NVIDIA_", "HIP_", "ROCR_", "HSA_", "COVERAGE_",
)  # fmt: skip
"""Beginnings of the variables that the process sees: no keys, no passwords."""
_SET = {
    "OMP_WAIT_POLICY": "passive",  # threads that spin take the cores from everybody else
    "GGML_NO_BACKTRACE": "1",  # an abort would start a debugger
}


class LlamaProcess:
    """A running process; its server listens on ``socket``, in a folder that only we may enter."""

    def __init__(
        self, options: ChildOptions, *, load_timeout_s: float, stop: threading.Event
    ) -> None:
        """Start it and wait for the model, until ``stop``; ``options.socket`` is set here.

        Raises `NotInstalledError`, `UnusableFileError`, `ClosedError`.
        """
        if not is_installed("xllamacpp"):
            raise NotInstalledError(
                "GGUF models need llama.cpp: install the extra gguf of ragbase-inference, or run "
                "a llama.cpp server and give its URL"
            )
        self._folder = Path(tempfile.mkdtemp(prefix="ragbase-gguf-"))
        self.socket = self._folder / "llama.sock"  # by this suffix llama.cpp knows a socket
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._process = _start()
        self._logs = threading.Thread(target=self._keep_log, name="gguf-log", daemon=True)
        self._logs.start()
        try:
            self._load(replace(options, socket=str(self.socket)), load_timeout_s, stop)
        except BaseException:
            self.close()
            raise

    def _load(self, options: ChildOptions, timeout_s: float, stop: threading.Event) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asdict(options)).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            log.debug("the process ended before it was told what to load")
        answers: SimpleQueue[bytes] = SimpleQueue()
        hearing = threading.Thread(target=self._hear, args=(answers,), daemon=True)
        hearing.start()
        try:
            line = _waited(answers, timeout_s, stop)
        except BaseException:
            self._process.kill()
            raise
        finally:
            hearing.join(_END_S)
        if line:
            answer = json.loads(line)
            if "error" not in answer:
                return
            raise UnusableFileError(answer["error"] + self._reason())
        code = self._process.wait(_END_S)
        raise UnusableFileError(
            f"llama.cpp broke down on the file (exit code {code}){self._reason()}"
        )

    def _hear(self, answers: SimpleQueue[bytes]) -> None:
        assert self._process.stdout is not None
        answers.put(self._process.stdout.readline())  # empty once the process has ended

    def _keep_log(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line.decode(errors="replace").rstrip()
            self._log.append(text)
            log.debug("llama.cpp: %s", text)

    def _reason(self) -> str:
        """What llama.cpp said last that tells why; no path. The process is ending."""
        self._logs.join(_END_S)
        for line in reversed(self._log):
            _, found, why = line.partition("error loading model: ")
            if found and "/" not in why:
                return f": {why}"
        return ""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def memory_bytes(self) -> int:
        """RAM that it holds now; 0 where that cannot be told."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        except (OSError, ValueError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """End it; what it works on fails. The second call does nothing."""
        process = self._process
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:  # it has gone already
                log.debug("the process of a model had ended", exc_info=True)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._logs.join(_END_S)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _waited(answers: SimpleQueue[bytes], timeout_s: float, stop: threading.Event) -> bytes:
    until = monotonic() + timeout_s
    while not stop.is_set():
        try:
            return answers.get(timeout=_LOOK_S)
        except Empty:
            if monotonic() > until:
                raise UnusableFileError(f"it was not loaded within {timeout_s:g} s") from None
    raise ClosedError("the models are closed")


def _start() -> subprocess.Popen[bytes]:
    seen = {key: value for key, value in os.environ.items() if key.startswith(_PASSED_ON)}
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_SET | seen,
        start_new_session=True,  # Ctrl-C is for the parent, which ends this one in its own time
    )
