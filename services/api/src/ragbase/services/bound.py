"""What services over collections share: each call is of a caller who sees only some of them."""

from __future__ import annotations

import copy
from typing import Self

from ragbase.models.access import Access
from ragbase.services.collections import CollectionService

__all__ = ["CollectionBound"]


class CollectionBound:
    """A service bound to the collections that ``access`` sees; `seen_by` binds it to others."""

    def __init__(self, collections: CollectionService, access: Access) -> None:
        self._collections = collections
        self._visible = access.visible()

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller."""
        bound = copy.copy(self)
        bound._collections = self._collections.seen_by(access)
        bound._visible = access.visible()
        return bound
