"""The API's settings: one class, every value from the environment (or ``<NAME>_FILE``).

Names of the original are kept; new ones carry ``RAGBASE_``. ``ragbase settings`` prints this
list. An empty service URL means "not configured", never a default host.
"""

from __future__ import annotations

from pathlib import Path

from ragbase.settings.chunking import ChunkingSettings
from ragbase.settings.database import DatabaseSettings
from ragbase.settings.embedding import MINILM, EmbeddingSettings
from ragbase.settings.extraction import ExtractionSettings
from ragbase.settings.gguf import GgufSettings
from ragbase.settings.graph_search import GraphSearchSettings
from ragbase.settings.graph_store import GraphStoreSettings
from ragbase.settings.jobs import JobSettings
from ragbase.settings.limits import LimitSettings
from ragbase.settings.llm import LlmSettings
from ragbase.settings.localrag import LocalragSettings
from ragbase.settings.reranking import RerankingSettings
from ragbase.settings.search import SearchSettings
from ragbase.settings.server import ServerSettings

__all__ = ["MINILM", "Settings"]


class Settings(  # pydantic collects fields from the last base to the first
    GgufSettings,
    LocalragSettings,
    LimitSettings,
    GraphStoreSettings,
    GraphSearchSettings,
    SearchSettings,
    JobSettings,
    ExtractionSettings,
    ChunkingSettings,
    LlmSettings,
    RerankingSettings,
    EmbeddingSettings,
    DatabaseSettings,
    ServerSettings,
):
    """All settings of API, worker and CLI."""

    @property
    def ef_search(self) -> int:
        """HNSW search width of a connection: wide enough for searches that set no depth."""
        return max(self.hnsw_ef_search, self.default_candidates)

    @property
    def models_dir(self) -> Path:
        """Folder of the GGUF files' folders."""
        return self.localrag_models_dir or self.home / "models"
