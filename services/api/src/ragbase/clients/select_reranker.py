"""Makes the rerankers that the settings name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragbase.clients.lazy_reranker import LazyReranker
from ragbase.clients.local_tokens import cached_snapshots
from ragbase.clients.reranker import Reranker
from ragbase.clients.server_role import ServerRole
from ragbase.clients.tei_reranker import TeiReranker
from ragbase.settings import Settings
from ragbase.settings.reranking import CONTRACT_RERANKERS, MS_MARCO, RerankerSpec

__all__ = ["SelectedReranker", "select_rerankers"]

_URL_SETTINGS = {
    "default": "RERANKER_URL",
    "bge-gpu": "BGE_GPU_RERANKER_URL",
    "qwen-4b": "QWEN_RERANKER_URL",
    "qwen-8b": "QWEN_8B_RERANKER_URL",
}


@dataclass(frozen=True, slots=True)
class SelectedReranker:
    """``on_demand``: nobody configured it, and its model may have to be fetched."""

    client: Reranker
    timeout_s: float
    fallback: str | None = None
    on_demand: bool = False


def select_rerankers(settings: Settings) -> dict[str, SelectedReranker]:
    """By name. Raises `ConfigurationError` where an address or a key cannot work.

    None is contacted here; models of this process begin to load, unless they are on demand. Needs
    a running event loop.
    """
    found = {name: _selected(name, spec, settings) for name, spec in settings.all_rerankers.items()}
    if settings.rerank_enabled and settings.engine == "onnx" and "default" not in found:
        found["default"] = _embedded_default(settings)
    return found


def _selected(name: str, spec: RerankerSpec, settings: Settings) -> SelectedReranker:
    assert spec.timeout_s is not None, "settings fill it in"
    client = _remote(name, spec, settings) if spec.url else _loading(spec.model, settings)
    return SelectedReranker(client, spec.timeout_s, spec.fallback)


def _remote(name: str, spec: RerankerSpec, settings: Settings) -> TeiReranker:
    assert spec.timeout_s is not None
    return TeiReranker(
        spec.url,
        _role(name, settings.rerankers),
        api_key=spec.api_key.get_secret_value(),
        model=spec.model,
        timeout_s=spec.timeout_s,
        batch=spec.batch,
    )


def _role(name: str, given: Mapping[str, RerankerSpec]) -> ServerRole:
    what = f"reranker {name}"
    if name in given:
        place = f"RAGBASE_RERANKERS, {name}"
        return ServerRole(what, f"{place}.url", f"{place}.api_key")
    return ServerRole(what, _URL_SETTINGS[name], "RERANKER_API_KEY")


def _loading(model: str, settings: Settings) -> LazyReranker:
    client = _in_process(model, settings)
    client.start()
    return client


def _embedded_default(settings: Settings) -> SelectedReranker:
    """A small model that is used where the model cache has it, else fetched when first asked for."""
    client = _in_process(MS_MARCO, settings)
    client.start_if(_is_at_hand)
    return SelectedReranker(client, CONTRACT_RERANKERS["default"], on_demand=True)


def _in_process(model: str, settings: Settings) -> LazyReranker:
    async def load() -> Reranker:
        # Imported here: a process that talks to servers needs no ONNX Runtime in memory.
        from ragbase.clients.inprocess_reranker import open_inprocess_reranker

        return await open_inprocess_reranker(model, threads=settings.embedding_threads)

    return LazyReranker(model, load)


async def _is_at_hand() -> bool:
    if not cached_snapshots(MS_MARCO):
        return False  # a look at a folder; to look closer costs a start two seconds of imports
    from ragbase.clients.inprocess_reranker import reranker_is_at_hand

    return await reranker_is_at_hand(MS_MARCO)
