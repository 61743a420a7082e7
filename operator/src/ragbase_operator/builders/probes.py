"""Probes, as the images of the product and of others answer them."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["exec_probe", "http_probe", "probes", "tcp_probe"]

STARTUP_PERIOD: Final = 5


def http_probe(path: str, port: str) -> dict[str, Any]:
    """GET ``path`` at a named port."""
    return {"httpGet": {"path": path, "port": port}}


def exec_probe(*command: str) -> dict[str, Any]:
    """A command in the container."""
    return {"exec": {"command": list(command)}}


def tcp_probe(port: str) -> dict[str, Any]:
    """A connection to a named port."""
    return {"tcpSocket": {"port": port}}


def probes(
    alive: dict[str, Any],
    ready: dict[str, Any] | None,
    *,
    startup_seconds: int,
    started: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Startup, liveness and readiness probe of a container.

    Time-outs are generous: a model server answers its probe behind the batch that runs, and a pod
    that is only slow must not be restarted.
    """
    found = {
        "startupProbe": {
            **(started or alive),
            "periodSeconds": STARTUP_PERIOD,
            "timeoutSeconds": 5,
            "failureThreshold": -(-startup_seconds // STARTUP_PERIOD),
        },
        "livenessProbe": {
            **alive,
            "periodSeconds": 10,
            "timeoutSeconds": 10,
            "failureThreshold": 6,
        },
    }
    if ready is not None:
        found["readinessProbe"] = {
            **ready,
            "periodSeconds": 5,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        }
    return found
