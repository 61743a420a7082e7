"""The check of ``ragbase doctor`` that looks at models in GGUF files."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from ragbase.cli.checks import Check

if TYPE_CHECKING:
    from ragbase.settings import Settings

__all__ = ["check_gguf"]


def check_gguf(settings: Settings) -> Check:
    """Whether the files there are can be used; none is fine, as served models stand in."""
    from ragbase.clients.inprocess_gguf_files import stored

    rows = stored(settings.models_dir)
    unusable = [f"{row.name}: {row.problem}" for row in rows if row.problem]
    if not rows:
        found = "none, so that the second API uses the served models"
        return Check("GGUF models", "ok", found)
    if unusable:
        return Check(
            "GGUF models",
            "warning",
            "; ".join(unusable),
            "`ragbase models rm` deletes a file, `ragbase models pull` fetches it again.",
        )
    if importlib.util.find_spec("xllamacpp") is None:
        return Check(
            "GGUF models",
            "warning",
            f"{len(rows)}, and llama.cpp is not installed",
            "Install the extra gguf (pip install 'ragbase[gguf]').",
        )
    return Check("GGUF models", "ok", f"{len(rows)}, run by llama.cpp")
