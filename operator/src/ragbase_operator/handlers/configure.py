"""Kopf's settings, each with its reason."""

from __future__ import annotations

from typing import Any

import kopf
from kopf import OperatorSettings as KopfSettings

__all__ = ["FINALIZER", "configure"]

FINALIZER = "ragbase.dev/retention"
PREFIX = "ragbase.dev"


class _NoDiffBase(kopf.DiffBaseStorage):
    """Nothing is kept on the object: a reconcile looks at what is, not at what has changed."""

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None


def configure(settings: KopfSettings, *, namespaced: bool = False, silence_s: float = 70.0) -> None:
    """Change ``settings`` in place; ``silence_s``: see `OperatorSettings.watch_silence_seconds`."""
    # Roles cannot see namespaces or CRDs: Kopf would ask for a minute before it gives up.
    settings.scanning.disabled = namespaced
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=PREFIX)
    settings.persistence.diffbase_storage = _NoDiffBase()
    # Events are ours (status/events.py): log lines as Events would be writes without end.
    settings.posting.enabled = False
    settings.posting.loggers = False
    # A watch ends on its own every five minutes; one that has died silently is noticed by the
    # missing bookmarks (one a minute) well within 90 s.
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 310
    settings.watching.connect_timeout = 30
    settings.watching.inactivity_timeout = silence_s
    settings.networking.request_timeout = 60
    settings.networking.connect_timeout = 15
    settings.networking.enforce_retry_after = True
    settings.execution.default_backoff = 20
    # One operator a cluster or namespace: its Deployment has one replica and strategy Recreate.
    settings.peering.standalone = True
    # A daemon ends when it is told to; waiting for that here spares a patch of the object.
    settings.background.instant_exit_timeout = 2.0
    settings.background.cancellation_polling = 5
    settings.process.ultimate_exiting_timeout = 20
