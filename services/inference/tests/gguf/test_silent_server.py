"""A server that takes a connection and never answers: it is told as not loaded, and soon."""

from __future__ import annotations

import socket
from pathlib import Path
from time import monotonic

from ragbase_inference.gguf.models import GgufModels
from ragbase_inference.gguf.options import GgufOptions, LlamaServer


def test_the_listing_does_not_wait_for_a_server_that_is_silent(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = GgufOptions(servers={"far": LlamaServer("embedding", url)}, answer_timeout_s=30.0)
        models = GgufModels(tmp_path, options)
        try:
            began = monotonic()
            rows = [(row.name, row.loaded, row.served) for row in models.models()]
            assert rows == [("far", False, True)]
            assert monotonic() - began < 15
        finally:
            models.close()
