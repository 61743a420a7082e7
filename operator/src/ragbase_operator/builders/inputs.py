"""What builders are told beside the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Images", "Inputs"]


@dataclass(frozen=True, slots=True)
class Images:
    """Default images, full references; one block, overridable in a RagBase."""

    api: str
    inference_cpu: str
    inference_rocm: str
    inference_cuda: str
    paradedb: str
    memgraph: str
    tei_cpu: str
    tei_cuda: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """Facts about cluster and operator that the manifests of a RagBase depend on."""

    version: str
    """Of the product."""
    images: Images
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Decoded data of the generated Secrets that exist, by name; a value that is there is kept."""
    fresh: Mapping[str, str] = field(default_factory=dict)
    """Random values for what is not there yet, by purpose (`database`, `memgraph`, `admin`, …)."""
    referenced: Mapping[str, str] = field(default_factory=dict)
    """Digest of each Secret that the spec refers to, by name: their change rolls the pods."""
    kinds: frozenset[str] = frozenset()
    """Foreign kinds that the cluster knows, such as `ServiceMonitor.monitoring.coreos.com`."""
