"""The Helm that the charts are tested with; must match the version in module/go.mod."""

from pathlib import Path

__all__ = ["CACHE", "HELM", "MODULE"]

HELM = "v4.3.2"

MODULE = Path(__file__).parent / "module"
"""The Go module that pins all that Helm is built from."""

CACHE = Path.home() / ".cache" / "ragbase" / "helm" / HELM
"""Where a Helm that was downloaded or built is kept."""
