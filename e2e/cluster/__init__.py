"""A real Kubernetes for tests: finding or building its programs, starting and stopping them.

`ControlPlane` is etcd, kube-apiserver and kube-controller-manager on free ports of the loopback.
"""

from e2e.cluster.binaries import Binaries, UnavailableError, find_binaries
from e2e.cluster.control_plane import ControlPlane, NodeAccess, Write

__all__ = ["Binaries", "ControlPlane", "NodeAccess", "UnavailableError", "Write", "find_binaries"]
