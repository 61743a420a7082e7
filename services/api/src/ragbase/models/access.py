"""Who asks, and what they may see: scopes, and the collections a key is bound to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FULL_ACCESS", "SCOPES", "Access", "Scope"]

Scope = Literal["read", "write", "admin"]
SCOPES: Final[tuple[Scope, ...]] = ("read", "write", "admin")


@dataclass(frozen=True, slots=True)
class Access:
    """What a caller may do. ``collections`` None: all of them, also those made later.

    A collection that may not be seen is treated everywhere as one that does not exist.
    """

    scopes: frozenset[Scope]
    collections: frozenset[str] | None = None
    key_id: str | None = None
    """Public part of the key; None where authentication is off or the caller is the server itself."""

    def may(self, scope: Scope) -> bool:
        """Whether the caller holds the scope; ``admin`` includes the others."""
        return scope in self.scopes or "admin" in self.scopes

    def sees(self, collection: str) -> bool:
        """Whether the collection of this name exists for the caller."""
        return self.collections is None or collection in self.collections

    def visible(self) -> list[str] | None:
        """Names for a statement's condition; None for no condition."""
        return None if self.collections is None else sorted(self.collections)


FULL_ACCESS: Final = Access(frozenset(SCOPES))
"""Of the server itself, its workers and command line; of callers only where authentication is off."""
