"""Types of single values, with the bounds that Kubernetes itself has for them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

__all__ = [
    "SET",
    "Annotations",
    "Folder",
    "Host",
    "HttpUrl",
    "Labels",
    "ObjectName",
    "Parameters",
    "PassThrough",
    "Quantity",
    "SecretKeyName",
    "StorageSize",
    "by_key",
]

SET: dict[str, Any] = {"x-kubernetes-list-type": "set"}
"""For `json_schema_extra`: a list whose values differ, of which each writer owns its own."""


def by_key(*keys: str) -> dict[str, Any]:
    """For `json_schema_extra`: a list of objects, told apart by the values of ``keys``."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


_LABEL_KEY_VALUE = Annotated[
    str, Field(max_length=63, pattern="^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$")
]
Labels = Annotated[dict[str, _LABEL_KEY_VALUE], Field(max_length=32)]
"""Labels, or a node selector."""
Annotations = Annotated[dict[str, Annotated[str, Field(max_length=16_384)]], Field(max_length=32)]
Parameters = Annotated[dict[str, Annotated[str, Field(max_length=4096)]], Field(max_length=64)]
"""Settings by name."""

_SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
ObjectName = Annotated[str, Field(min_length=1, max_length=253, pattern=f"^{_SUBDOMAIN}$")]
"""Name of a Kubernetes object: a subdomain of RFC 1123."""
Host = Annotated[str, Field(min_length=1, max_length=253, pattern=f"^(\\*\\.)?{_SUBDOMAIN}$")]
"""A host name; its first label may be a wildcard."""
SecretKeyName = Annotated[str, Field(min_length=1, max_length=253, pattern="^[-._a-zA-Z0-9]+$")]
"""A key of a Secret."""
HttpUrl = Annotated[str, Field(min_length=8, max_length=1024, pattern="^https?://[^ ]+$")]
Folder = Annotated[
    str,
    Field(
        min_length=1,
        max_length=512,
        pattern="^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$",
    ),
]
"""A path below a volume's root: relative, and never out of it."""

_QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$"
Quantity = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    Field(max_length=32, pattern=_QUANTITY),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "pattern": _QUANTITY,
            "maxLength": 32,
            "minimum": 0,
        }
    ),
]
"""A quantity as Kubernetes writes it: ``2``, ``500m``, ``2Gi``."""
StorageSize = Annotated[
    str,
    Field(max_length=32, pattern=r"^([1-9][0-9]*|[0-9]+\.[0-9]+)(M|Mi|G|Gi|T|Ti|P|Pi)$"),
]
"""A volume's size, with its unit: ``10Gi``."""
PassThrough = Annotated[dict[str, Any], Field(max_length=64)]
"""An object that is handed to Kubernetes as it is."""
