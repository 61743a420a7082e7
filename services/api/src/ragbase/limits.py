"""Bounds of the HTTP contract that are not settings."""

from __future__ import annotations

__all__ = [
    "ARM_DEPTH_DEFAULT",
    "ARM_DEPTH_MAX",
    "COLLECTION_NAME",
    "FILTER_CONDITIONS_MAX",
    "FILTER_DEPTH_MAX",
    "FILTER_VALUES_MAX",
    "LOCALRAG",
    "NEW_COLLECTION_FUSION",
    "RERANK_CANDIDATES_MAX",
    "RRF_K",
    "TOP_K_MAX",
    "UPLOAD_FIELD_BYTES",
]

COLLECTION_NAME = "[a-z0-9][a-z0-9_-]{0,62}"
"""A pattern for the whole name; the schema checks the same."""
LOCALRAG = "localrag"
"""The collection that holds the files of the second API."""
TOP_K_MAX = 100
RERANK_CANDIDATES_MAX = 200
ARM_DEPTH_DEFAULT = 200
"""Rows each arm contributes to fusion, whatever ``top_k``: pages then neither repeat nor skip."""
ARM_DEPTH_MAX = 1000
RRF_K = 60
"""Cormack, Clarke, Büttcher: Reciprocal Rank Fusion, SIGIR 2009."""
FILTER_DEPTH_MAX = 5
FILTER_CONDITIONS_MAX = 64
FILTER_VALUES_MAX = 1000
UPLOAD_FIELD_BYTES = 1024 * 1024
"""Most bytes of a form's field beside the file; metadata have their own, smaller limit."""
NEW_COLLECTION_FUSION = {
    "method": "weighted",
    "weights": {"semantic": 0.5, "keyword": 0.5, "graph": 0.8},
}
"""Fusion of collections made from now on; ``default`` keeps the contract's RRF. See ADR 9, ADR 30."""
