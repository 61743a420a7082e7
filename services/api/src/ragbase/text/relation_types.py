"""Relation types as graph databases take them for labels."""

from __future__ import annotations

import re

__all__ = ["clean_relation_type"]


def clean_relation_type(text: str) -> str:
    """Upper-case and trimmed; every character outside A–Z, a–z, 0–9 and ``_`` becomes ``_``;
    ``REL_`` goes in front where the outcome does not start with a letter (contract §7).

    Cleaning twice changes nothing.
    """
    cleaned = re.sub(r"[^A-Za-z0-9_]", "_", text.upper().strip())
    return cleaned if re.match(r"[A-Z]", cleaned) else f"REL_{cleaned}"
