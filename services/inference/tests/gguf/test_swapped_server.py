"""A llama.cpp server by URL may run another model one day: its vectors are not taken for the first's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragbase_inference.gguf.errors import ReplacedFileError
from ragbase_inference.gguf.models import GgufModels
from ragbase_inference.gguf.options import GgufOptions, LlamaServer

from .test_client import Server, packed, server, vectors

__all__ = ["server"]


def running(dimension: int) -> Any:
    """What a server with a model of this dimension answers."""

    def answer(body: Any) -> dict[str, Any]:
        if body is None:
            return {"default_generation_settings": {"n_ctx": 512}}
        return vectors(
            *((place, packed(*[1.0] * dimension)) for place in range(len(body["input"])))
        )

    return answer


def test_another_dimension_fails_one_call_and_is_known_to_the_next(
    server: Server, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{server.server_address[1]}"
    models = GgufModels(tmp_path, GgufOptions(servers={"far/away": LlamaServer("embedding", url)}))
    try:
        server.answer = running(2)
        assert models.embed("far/away", ["a", "b"]).shape == (2, 2)
        server.answer = running(3)
        with pytest.raises(ReplacedFileError, match="another model"):
            models.embed("far/away", ["a"])
        assert models.embed("far/away", ["a"]).shape == (1, 3)
        assert models.info("far/away", "embedding").dimension == 3
    finally:
        models.close()
