"""The node's network: a namespace without any link to the machine's."""

from __future__ import annotations

import socket
import struct
import subprocess
from pathlib import Path

from e2e.cluster.commands import SERVICES
from e2e.node.addresses import NODE_ADDRESS, POD_RANGE

__all__ = ["cni_configuration", "dns_answers", "set_up_network"]


DNS_PORT = 53


def set_up_network() -> None:
    """Give the calling process' network namespace the node's address and routes.

    A bridge without ports holds the address: kernels may lack dummy devices. A Service's address
    needs a route before kube-proxy's rules are reached; all else has no way out, and fails at once.
    """
    for arguments in (
        "link set lo up",
        "link add node0 type bridge",
        f"addr add {NODE_ADDRESS}/32 dev node0",
        "link set node0 up",
        f"route add {SERVICES} dev node0",
        "route add unreachable default",
    ):
        subprocess.run(["ip", *arguments.split()], check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def cni_configuration() -> dict[str, object]:
    """Pods on a bridge, with addresses of `POD_RANGE`. It enforces no NetworkPolicy."""
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": POD_RANGE}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "node", "plugins": [bridge, ports]}


def dns_answers(server: str, name: str, timeout_s: float = 1.0) -> bool:
    """Whether a DNS server knows an address of ``name`` (RFC 1035, a query of type A)."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.settimeout(timeout_s)
        try:
            channel.sendto(query, (server, DNS_PORT))
            answers: int = struct.unpack(">H", channel.recv(512)[6:8])[0]
        except OSError:
            return False
    return answers > 0
