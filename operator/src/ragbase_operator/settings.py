"""Settings of the operator, from the environment: ``RAGBASE_OPERATOR_<NAME>``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ragbase_operator import __version__
from ragbase_operator.builders.images import default_images
from ragbase_operator.builders.inputs import Images

__all__ = ["OperatorSettings"]


class OperatorSettings(BaseSettings):
    """Read once, at the start."""

    model_config = SettingsConfigDict(env_prefix="RAGBASE_OPERATOR_", frozen=True, extra="ignore")

    namespaces: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Namespaces to look after, with commas; empty: the whole cluster."
    )
    namespace: str = Field(
        default="default",
        description="The operator's own, where its Lease is (where it looks after namespaces, the "
        "first of them has it).",
    )
    registry: str = Field(
        default="ghcr.io/ragbase", description="Where the product's own images come from."
    )
    images: dict[str, str] = Field(
        default_factory=dict,
        description="JSON: other default images by name (api, inference_cpu, inference_rocm, "
        "inference_cuda, paradedb, memgraph, tei_cpu, tei_cuda).",
    )
    host: str = Field(default="0.0.0.0", description="Address of both ports.")  # noqa: S104 - a pod
    health_port: int = Field(default=8080, ge=0, le=65_535, description="Port of /healthz.")
    metrics_port: int = Field(default=9090, ge=0, le=65_535, description="Port of /metrics.")
    resync_seconds: float = Field(
        default=120.0, ge=5, description="A resource is looked at again after so long."
    )
    retry_seconds: float = Field(
        default=15.0, ge=1, description="The same for one that is not ready."
    )
    watch_silence_seconds: float = Field(
        default=70.0,
        ge=1,
        description="A watch that is silent for so long is opened anew; a healthy one speaks each "
        "minute.",
    )
    heartbeat_seconds: float = Field(
        default=30.0, ge=1, description="Between renewals of the Lease."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe line that is logged."
    )
    log_format: Literal["json", "console"] = Field(default="json", description="Form of the log.")

    @field_validator("namespaces", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @property
    def lease_namespace(self) -> str:
        """Where the heartbeat is: it must be where we watch."""
        return self.namespaces[0] if self.namespaces else self.namespace

    @property
    def default_images(self) -> Images:
        """The images of this version, with what is set instead. ValueError on an unknown name."""
        known = default_images(self.registry, __version__)
        try:
            return replace(known, **self.images)
        except TypeError as error:
            raise ValueError(f"RAGBASE_OPERATOR_IMAGES names an unknown image: {error}") from error
