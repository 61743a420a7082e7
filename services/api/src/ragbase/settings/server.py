"""The HTTP server: where it listens, who may call, how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator

from ragbase.loopback import is_loopback
from ragbase.settings.base import Section, env

__all__ = ["ServerSettings"]

Port = Annotated[int, Field(ge=0, le=65535)]


class ServerSettings(Section):
    """The HTTP server: where it listens, who may call, how it ends."""

    host: str = Field(
        "127.0.0.1", validation_alias=env("RAGBASE_HOST"), description="Address to listen on."
    )
    port: Port = Field(
        8000,
        validation_alias=env("RAGBASE_PORT"),
        description="Port to listen on; 0 takes a free one.",
    )
    metrics_port: Port | None = Field(
        None,
        validation_alias=env("RAGBASE_METRICS_PORT"),
        description="Port of /metrics; unset: on the main port.",
    )
    auth: Literal["on", "off"] | None = Field(
        None,
        validation_alias=env("RAGBASE_AUTH"),
        description="Whether callers need an API key; unset: off on loopback, on beyond it.",
    )
    allow_insecure: bool = Field(
        False,
        validation_alias=env("RAGBASE_ALLOW_INSECURE"),
        description="Let RAGBASE_AUTH=off listen beyond loopback.",
    )
    admin_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("RAGBASE_ADMIN_KEY"),
        description="An API key that may do all; `ragbase keys generate` makes one.",
    )
    probe_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("RAGBASE_PROBE_KEY"),
        description="An API key that may read, for probes and scrapes.",
    )
    client_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("RAGBASE_CLIENT_KEY"),
        description="An API key that may read and write documents.",
    )
    shutdown_drain_s: float = Field(
        0.0,
        ge=0,
        le=3600,
        validation_alias=env("RAGBASE_SHUTDOWN_DRAIN"),
        description="After the first signal, seconds to be not ready and still answer, until load balancers have noticed.",
    )
    shutdown_grace_s: float = Field(
        25.0,
        ge=0,
        le=86_400,
        validation_alias=env("RAGBASE_SHUTDOWN_GRACE"),
        description="Seconds that requests and jobs under way get to finish after that.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        validation_alias=env("RAGBASE_LOG_LEVEL", "API_LOG_LEVEL"),
        description="Least severe log line that is written.",
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto",
        validation_alias=env("RAGBASE_LOG_FORMAT"),
        description="auto: console on a terminal, else JSON lines.",
    )
    home: Path = Field(
        Path(".ragbase"),
        validation_alias=env("RAGBASE_HOME"),
        description="State folder of `ragbase up`.",
    )

    @field_validator("auth", mode="before")
    @classmethod
    def _yaml_switch(cls, value: object) -> object:
        """YAML reads an unquoted ``on`` as true, and hands that down as text."""
        words = {"true": "on", "false": "off", "": None}
        return words.get(value.lower(), value.lower()) if isinstance(value, str) else value

    @property
    def auth_on(self) -> bool:
        """Whether callers need an API key."""
        if self.auth is None:
            return not is_loopback(self.host)
        return self.auth == "on"
