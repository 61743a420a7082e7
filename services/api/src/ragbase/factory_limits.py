"""Bounds of the services, read from the settings."""

from __future__ import annotations

from ragbase.ingest.parse.parser import ParseLimits
from ragbase.limits import UPLOAD_FIELD_BYTES
from ragbase.services.batch import BatchLimits
from ragbase.services.contextual import ContextRules
from ragbase.services.rerank import RerankLimits
from ragbase.services.upload import UploadBounds
from ragbase.settings import Settings

__all__ = ["batch_limits", "context_rules", "parse_limits", "rerank_limits", "upload_bounds"]


def context_rules(settings: Settings) -> ContextRules:
    """Of context lines: tokens, time, whether they are kept."""
    return ContextRules(
        document_tokens=settings.llm_contextual_document_tokens,
        line_tokens=settings.llm_contextual_line_tokens,
        budget_s=settings.llm_contextual_budget_s,
        cached=settings.llm_cache_days > 0,
    )


def parse_limits(settings: Settings) -> ParseLimits:
    """Of the processes that read files."""
    return ParseLimits(
        text_chars=settings.max_text_chars,
        timeout_s=settings.parse_timeout,
        memory_bytes=settings.parse_memory_bytes,
        parallel=settings.parse_parallel,
    )


def upload_bounds(settings: Settings) -> UploadBounds:
    """Of a file and of the fields beside it, in bytes."""
    return UploadBounds(
        file_bytes=settings.max_upload_bytes,
        field_bytes=max(UPLOAD_FIELD_BYTES, 2 * settings.max_metadata_bytes),
    )


def batch_limits(settings: Settings) -> BatchLimits:
    """Of a batch of documents and of a line of it."""
    return BatchLimits(
        items=settings.max_batch,
        line_bytes=settings.max_body_bytes,
        held_bytes=2 * settings.max_body_bytes,
        pause_s=settings.body_timeout,
        parallel=settings.batch_parallel,
    )


def rerank_limits(settings: Settings) -> RerankLimits:
    """Of what `POST /v1/rerank` takes."""
    return RerankLimits(settings.max_batch, settings.max_query_chars, settings.max_text_chars)
