"""Settings of local models, and what becomes of them; no model is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from ragbase.clients.inprocess_gguf import open_gguf
from ragbase.settings import Settings
from ragbase_inference.gguf.options import GgufOptions, LlamaServer


async def options(settings: Settings) -> GgufOptions:
    models = open_gguf(settings)
    try:
        assert await models.models() == [], "folders that are missing are no error"
        return models._models.options
    finally:
        await models.aclose()


async def test_models_unused_for_thirty_minutes_are_looked_for_every_fifteen(
    tmp_path: Path,
) -> None:
    """Contract B §6."""
    found = await options(Settings(localrag_models_dir=tmp_path))  # type: ignore[call-arg]
    assert (found.idle_s, found.sweep_s) == (1800, 900)
    quick = Settings(localrag_models_dir=tmp_path, localrag_model_idle_s=60)  # type: ignore[call-arg]
    assert (await options(quick)).sweep_s == 30


def test_servers_are_read_from_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(
        "LOCALRAG_SERVERS",
        '{"big": {"kind": "reranker", "url": "http://llama:8080", "api_key": "k3y"}}',
    )
    settings = Settings(localrag_models_dir=tmp_path)  # type: ignore[call-arg]
    models = open_gguf(settings)
    models._models.close()
    assert models._models.options.servers == {
        "big": LlamaServer("reranker", "http://llama:8080", "k3y")
    }
    assert "k3y" not in repr(settings)
    assert "k3y" not in repr(models._models.options)


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        '{"big": {"kind": "pictures", "url": "http://llama"}}',
        '{"big": {"kind": "chat", "url": "file:///etc/passwd"}}',
        '{"../big": {"kind": "chat", "url": "http://llama"}}',
        '{"big.gguf": {"kind": "chat", "url": "http://llama"}}',
        '{"big": {"kind": "chat"}}',
        '{"big": {"kind": "chat", "url": "http://llama", "key": "x"}}',
    ],
)
def test_servers_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LOCALRAG_SERVERS", text)
    with pytest.raises(ValidationError):
        Settings()
