"""Kopf operator that turns a RagBase resource into a retrieval stack."""

__version__ = "0.1.0"
