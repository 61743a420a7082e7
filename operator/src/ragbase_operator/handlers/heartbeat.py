"""The heartbeat: a Lease that we renew and must see again through our own watch.

A process whose watches have died silently looks healthy from inside; this one does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from ragbase_operator.cluster.port import Cluster, ClusterError
from ragbase_operator.logs import get_logger

__all__ = ["LEASE", "Heartbeat"]

LEASE = "ragbase-operator-heartbeat"
LIMIT_BEATS = 3
"""So many renewals may go unseen before the operator is unhealthy."""


class Heartbeat:
    """``clock`` gives seconds, and never goes back."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        identity: str,
        every_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._identity = identity
        self._every_s = every_s
        self._clock = clock
        self._seen_at = clock()
        self._last = ""
        self._log = get_logger("ragbase_operator.heartbeat")

    @property
    def age_s(self) -> float:
        """Since a renewal was last seen; since the start where none was yet."""
        return self._clock() - self._seen_at

    @property
    def healthy(self) -> bool:
        """Whether the watch works, as far as one can know."""
        return self.age_s <= LIMIT_BEATS * self._every_s

    def see(self, identity: str | None, renewed: str | None) -> None:
        """The watch shows the Lease. Old renewals, or another operator's, prove nothing."""
        if identity == self._identity and renewed and renewed > self._last:
            self._last = renewed
            self._seen_at = self._clock()

    async def beat(self) -> None:
        """Renew the Lease once. Raises `ClusterError`."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        await self._cluster.apply(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": LEASE, "namespace": self._namespace},
                "spec": {
                    "holderIdentity": self._identity,
                    "leaseDurationSeconds": round(LIMIT_BEATS * self._every_s),
                    "renewTime": now,
                },
            }
        )

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                await self.beat()
            except ClusterError as error:
                self._log.warning("heartbeat_failed", error=str(error))
            await asyncio.sleep(self._every_s)
