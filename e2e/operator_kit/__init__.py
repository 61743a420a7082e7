"""The operator as a process against a real API server, with users and a kubelet that are played."""

from e2e.operator_kit.harness import Harness, install_crds

__all__ = ["Harness", "install_crds"]
