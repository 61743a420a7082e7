"""llama.cpp's server with one model, in a process of its own. Only this file imports xllamacpp.

    python -m ragbase_inference.gguf.child   < one line of JSON: `ChildOptions`

Answers one line of JSON on standard output, ``{}`` once the model is loaded or ``{"error": …}``,
serves HTTP on a Unix socket, and ends when its standard input does: also where its parent was
killed. Logs go to standard error.

Why a process: llama.cpp aborts on some files, and closing its server within the process that runs
it may never return. See docs/adr/0033-gguf.md.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["ChildOptions", "main"]

_HTTP_THREADS = 32
"""Each connection that is kept alive holds one."""
_ERRORS_ONLY = 1
_TOO_LITTLE = "llama.cpp cannot load the file"


@dataclass(frozen=True, slots=True)
class ChildOptions:
    """What the process runs, and how."""

    path: str
    kind: str
    socket: str
    context: int
    """Tokens of one input; of a chat model, of prompt and answer."""
    parallel: int
    """Inputs worked on at once, each with a context of its own."""
    threads: int
    gpu_layers: int
    """-1: as many as fit the GPU, where the wheel was built for one."""


def main() -> int:
    """Serve until standard input ends; the exit code is 1 where the model cannot be loaded."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever llama.cpp prints is a log
    options = ChildOptions(**json.loads(sys.stdin.readline()))
    try:
        server = _serve(options)
    except ImportError as error:
        return _refuse(answer, f"xllamacpp cannot be imported: {error}")
    except RuntimeError:  # says no more than that; the log does
        return _refuse(answer, _TOO_LITTLE)
    print("{}", file=answer, flush=True)
    while sys.stdin.read(1):  # nothing is sent: this waits for the end
        pass
    del answer, server
    _remove(Path(options.socket))
    return 0


def _remove(socket: Path) -> None:
    """A parent that was killed leaves the folder to us."""
    with suppress(OSError):
        socket.unlink(missing_ok=True)
        socket.parent.rmdir()


def _refuse(answer: Any, why: str) -> int:
    print(json.dumps({"error": why}), file=answer, flush=True)
    return 1


def _serve(options: ChildOptions) -> Any:
    import xllamacpp

    params: Any = xllamacpp.CommonParams()
    params.model.path = options.path
    params.hostnames = [options.socket]
    params.n_threads_http = _HTTP_THREADS
    params.n_ctx = options.context * options.parallel
    params.n_parallel = options.parallel
    params.n_gpu_layers = options.gpu_layers
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = options.threads
    params.verbosity = _ERRORS_ONLY
    params.warmup = False
    params.fit_params = False  # it would shrink the context unasked
    params.cache_ram_mib = 0  # up to 8 GiB of old prompts
    params.ui = params.endpoint_slots = False
    if options.kind != "chat":
        params.embedding = True
        # An encoder sees a text at once: it must fit one batch.
        params.n_batch = params.n_ubatch = options.context
    if options.kind == "reranker":
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
    return xllamacpp.Server(params)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # llama.cpp's own end may wait for ever
