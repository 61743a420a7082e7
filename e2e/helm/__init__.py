"""Helm for tests: finding or building it, and running it."""

from e2e.helm.binary import find_helm
from e2e.helm.command import Helm, HelmError

__all__ = ["Helm", "HelmError", "find_helm"]
