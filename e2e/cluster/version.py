"""The Kubernetes that tests run on; must match the versions in kubernetes/go.mod."""

from pathlib import Path

__all__ = ["CACHE", "ETCD", "KUBERNETES", "MODULE"]

KUBERNETES = "v1.37.2"
ETCD = "v3.7.2"

MODULE = Path(__file__).parent / "kubernetes"
"""The Go module that pins everything which is built."""

CACHE = Path.home() / ".cache" / "ragbase" / "kubernetes" / KUBERNETES
"""Programs that were downloaded or built, one file each."""
