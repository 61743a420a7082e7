"""The clients against the real API."""

from __future__ import annotations

from ..live_client import client, collection

__all__ = ["client", "collection"]
