"""What wakes a resource's loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress

__all__ = ["Bell", "Bells"]


class Bell:
    """Rung by anybody, heard by one loop; many rings before it listens are one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.lock = asyncio.Lock()
        """Held while the resource is worked on: a deletion waits for the pass that is under way."""

    def ring(self) -> None:
        """Something has changed."""
        self._event.set()

    async def wait(self, timeout_s: float) -> bool:
        """Until it rings, at most so long; whether it rang."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        rang = self._event.is_set()
        self._event.clear()
        return rang


class Bells:
    """The bells of all resources, and which of them a name rings.

    A resource answers to its own name and to names it listens for: its label as an owner, Secrets
    that its spec refers to.
    """

    def __init__(self) -> None:
        self._bells: dict[str, Bell] = {}
        self._listeners: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._names: dict[str, frozenset[tuple[str, ...]]] = {}

    def of(self, uid: str) -> Bell:
        """The bell of a resource; made where there is none."""
        return self._bells.setdefault(uid, Bell())

    def listen(self, uid: str, names: frozenset[tuple[str, ...]]) -> None:
        """From now on ``names``, and no others, ring for a resource."""
        for name in self._names.get(uid, frozenset()) - names:
            self._quiet(uid, name)
        for name in names:
            self._listeners[name].add(uid)
        self._names[uid] = names

    def ring(self, name: tuple[str, ...]) -> None:
        """Ring for all that listen for ``name``."""
        for uid in self._listeners.get(name, ()):
            self.of(uid).ring()

    def forget(self, uid: str) -> None:
        """The resource is gone."""
        for name in self._names.pop(uid, frozenset()):
            self._quiet(uid, name)
        self._bells.pop(uid, None)

    def _quiet(self, uid: str, name: tuple[str, ...]) -> None:
        self._listeners[name].discard(uid)
        if not self._listeners[name]:
            del self._listeners[name]
