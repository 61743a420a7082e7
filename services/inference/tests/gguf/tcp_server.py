"""A llama.cpp server on a TCP port, as an operator would run one: nothing of ours in between."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["llama_server"]

_SERVE = """
import json, sys, time
import xllamacpp

asked = json.loads(sys.stdin.readline())
params = xllamacpp.CommonParams()
params.model.path = asked["path"]
params.api_keys = [asked["key"]]
params.n_ctx = params.n_batch = params.n_ubatch = 512
params.embedding = True
params.warmup = False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
time.sleep(600)
"""


@contextmanager
def llama_server(model: Path, *, key: str) -> Iterator[str]:
    """Its URL; the model is an embedding model."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"path": str(model), "key": key}) + "\n")
            process.stdin.flush()
            yield process.stdout.readline().strip()
        finally:
            process.kill()
