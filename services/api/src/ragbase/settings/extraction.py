"""How documents come into the entity graph."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from ragbase.settings.base import Section, env

__all__ = ["ExtractionSettings"]


class ExtractionSettings(Section):
    """How documents come into the entity graph."""

    extraction: Literal["auto", "llm", "ner", "off"] = Field(
        "auto",
        validation_alias=env("RAGBASE_EXTRACTION"),
        description="Who finds entities in new documents. auto: the LLM if one is configured, else a NER model if one is at hand, else nobody.",
    )
    ner_url: str = Field(
        "",
        validation_alias=env("RAGBASE_NER_URL"),
        description="Base URL of an inference server with a GLiNER model; unset: a spaCy model in a process of its own (extra `ner`).",
    )
    ner_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("RAGBASE_NER_API_KEY"),
        description="Bearer token of the NER server.",
    )
    ner_model: str = Field(
        "en_core_web_sm",
        min_length=1,
        validation_alias=env("RAGBASE_NER_MODEL"),
        description="Installed package or folder of a spaCy model; it reads its own language only.",
    )
    ner_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        validation_alias=env("RAGBASE_NER_LABELS"),
        description="Types of entities that GLiNER looks for, with commas between; unset: the built-in ones.",
    )
    ner_threshold: float = Field(
        0.45,
        ge=0,
        le=1,
        validation_alias=env("RAGBASE_NER_THRESHOLD"),
        description="Least score of an entity that GLiNER finds.",
    )
    ner_timeout_s: float = Field(
        60.0,
        gt=0,
        validation_alias=env("RAGBASE_NER_TIMEOUT"),
        description="Time-out of one call of the NER model (32 chunks), in seconds.",
    )
    llm_extraction_gleaning: int = Field(
        0,
        ge=0,
        le=1,
        validation_alias=env("LLM_EXTRACTION_GLEANING"),
        description="1: ask the LLM once more for what it missed; nearly doubles the cost.",
    )
    wait_for_graph: bool = Field(
        False,
        validation_alias=env("INGEST_WAIT_FOR_GRAPH"),
        description="Whether posting a document waits until it is in the graph, as with `X-LightRAG-Ingest: wait`.",
    )
    graph_wait_s: float = Field(
        60.0,
        gt=0,
        le=3600,
        validation_alias=env("RAGBASE_GRAPH_WAIT"),
        description="Longest such wait, in seconds; on time-out the document is answered with a warning.",
    )

    @field_validator("ner_labels", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(label for part in value.split(",") if (label := part.strip()))
        return value
