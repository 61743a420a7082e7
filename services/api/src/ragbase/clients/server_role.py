"""What a model server is to us: how messages call it, and which settings a person must look at."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EMBEDDING", "ServerRole"]


@dataclass(frozen=True, slots=True)
class ServerRole:
    """``what`` is said after "the"; the two settings are those of its address and its key."""

    what: str
    url_setting: str
    key_setting: str


EMBEDDING = ServerRole("embedding server", "EMBEDDING_URL", "EMBEDDING_API_KEY")
