"""A listening socket, or who has the port instead."""

from __future__ import annotations

import errno
import socket
import sys
from dataclasses import dataclass
from pathlib import PurePath

from ragbase.cli.errors import CliError, UsageError

__all__ = ["Holder", "claim", "holder_of", "url_of"]

BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that listens on a port."""

    pid: int
    command: str

    @property
    def is_ragbase(self) -> bool:
        """Whether it is one of ours."""
        return "ragbase" in self.command


def claim(host: str, port: int) -> socket.socket:
    """A socket bound to the address, not listening yet. Raises `CliError` that names the holder.

    Bound before anything else starts, a used port costs nothing and no start is in vain.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise UsageError(f"cannot listen on {host}: {error.strerror}") from error
    claimed = socket.socket(family, kind, protocol)
    if sys.platform != "win32":
        # On Windows this option would let two processes share the port.
        claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        claimed.bind(address)
    except OSError as error:
        claimed.close()
        raise _bind_error(host, port, error) from error
    return claimed


def url_of(claimed: socket.socket) -> str:
    """Where to reach what listens on the socket; a wildcard address is given as loopback."""
    host, port = claimed.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def holder_of(port: int) -> Holder | None:
    """Who listens on the port; None where the system does not tell or psutil is not installed."""
    try:
        import psutil
    except ImportError:
        return None
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if connection.status != psutil.CONN_LISTEN or not connection.laddr:
                continue
            if connection.laddr.port == port and connection.pid:
                return Holder(connection.pid, _command(connection.pid))
    except psutil.AccessDenied:  # macOS tells only root
        return None
    return None


def _command(pid: int) -> str:
    import psutil

    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return "unknown"
    return " ".join([PurePath(words[0]).name, *words[1:]])[:120] if words else "unknown"


def _bind_error(host: str, port: int, error: OSError) -> CliError:
    if error.errno == errno.EACCES:
        return UsageError(f"not allowed to listen on port {port}", "Choose one above 1023.")
    if error.errno != errno.EADDRINUSE:
        return UsageError(f"cannot listen on {host}:{port}: {error.strerror}")
    holder = holder_of(port)
    if holder is None:
        return CliError(f"port {port} is in use", _OTHER_PORT)
    if holder.is_ragbase:
        return CliError(
            f"port {port} is in use: RagBase already runs there (process {holder.pid})",
            f"Use it at http://{host}:{port}, or stop it with Ctrl-C or `kill {holder.pid}`; "
            "`--port 0` starts another on a free port (with another --home).",
        )
    return CliError(f"port {port} is in use by process {holder.pid}: {holder.command}", _OTHER_PORT)


_OTHER_PORT = "Choose another with --port, or `--port 0` for any free one."
