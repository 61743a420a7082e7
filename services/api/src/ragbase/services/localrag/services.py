"""The use cases of the second API, together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from ragbase.models.access import Access
from ragbase.services.localrag.files import FileService
from ragbase.services.localrag.models import LocalModels
from ragbase.services.localrag.passages import PassageService
from ragbase.services.localrag.query import QueryService
from ragbase.services.localrag.retrieve import RetrieveService

__all__ = ["LocalragServices"]


@dataclass(frozen=True, slots=True)
class LocalragServices:
    """Wired by `ragbase.factory_localrag`."""

    models: LocalModels
    passages: PassageService
    queries: QueryService
    files: FileService
    retrieval: RetrieveService

    def seen_by(self, access: Access) -> Self:
        """The same, bound to what ``access`` may see."""
        return replace(
            self, files=self.files.seen_by(access), retrieval=self.retrieval.seen_by(access)
        )
