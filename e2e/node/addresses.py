"""Names, addresses and folders of the node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = [
    "API_PORT",
    "DNS_ADDRESS",
    "HOME",
    "NODE_ADDRESS",
    "NODE_NAME",
    "POD_RANGE",
    "SERVICE_ADDRESS",
]

NODE_NAME: Final = "node-1"
NODE_ADDRESS: Final = "10.99.0.1"
POD_RANGE: Final = "10.244.0.0/24"
SERVICE_ADDRESS: Final = "10.96.0.1"
"""Of the Service `kubernetes`: the first of the range of Services."""
DNS_ADDRESS: Final = "10.96.0.10"

API_PORT: Final = int(os.environ.get("RAGBASE_NODE_PORT", "6443"))
"""Of the API server, on 127.0.0.1 of this machine and in the node."""

HOME: Final = Path.home() / ".cache" / "ragbase" / "node"
"""Images, which stay, and the state of a node that runs."""
