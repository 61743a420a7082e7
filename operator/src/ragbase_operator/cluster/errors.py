"""What the API server's refusals are called in the port."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from ragbase_operator.cluster.port import ClusterError, ConflictError, RefusedError
from ragbase_operator.cluster.transport import Response
from ragbase_operator.models.manifest import Ref

__all__ = ["error_of", "reason_of"]


def error_of(ref: Ref, response: Response) -> ClusterError:
    """The error for a response that is no success (metav1.Status in its body).

    Unauthorized is worth another try: tokens rotate. NotFound here is what an object needs
    (its namespace, or the object of a subresource), not its kind.
    """
    message = str(response.body.get("message", response.status))
    if response.status == HTTPStatus.CONFLICT:
        return ConflictError(f"{ref}: {message}")
    if response.status == HTTPStatus.UNAUTHORIZED:
        return ClusterError(f"{ref}: {message}")
    return RefusedError(ref, reason_of(response.body), message)


def reason_of(status: dict[str, Any]) -> str:
    """The server's word for it: Invalid, Forbidden, NotFound, …

    A namespace that is being deleted refuses new objects as Forbidden; the cause tells more.
    """
    causes = status.get("details", {}).get("causes", ())
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return "NamespaceTerminating"
    return str(status.get("reason") or "Unknown")
