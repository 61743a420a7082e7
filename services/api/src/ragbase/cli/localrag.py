"""``ragbase localrag``: the second API alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragbase.cli.errors import UsageError, exits

if TYPE_CHECKING:
    from ragbase.settings import Settings

__all__ = ["localrag"]

ORIGINALS = {
    "PORT": "localrag_port",
    "OPENAI_API_KEY": "localrag_openai_api_key",
    "OPENAI_MODEL_NAME": "localrag_openai_model_name",
    "EMBEDDING_MODEL": "localrag_embedding_model",
    "RERANKER_MODEL": "localrag_reranker_model",
    "CHAT_MODEL": "localrag_chat_model",
}
"""Names of the original that mean something else, or nothing, to the rest of RagBase."""


@exits
def localrag(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; else RAGBASE_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", "-p", min=0, max=65535, help="Port; else LOCALRAG_PORT, PORT (57352)."
        ),
    ] = None,
) -> None:
    """Serve the second API, local RAG on GGUF models, on the Postgres of DATABASE_URL.

    `ragbase up` serves it beside the first API. Alone it also reads the original's PORT,
    OPENAI_API_KEY, OPENAI_MODEL_NAME and EMBEDDING_MODEL where their LOCALRAG_ settings are unset.
    The schema is not touched: run `ragbase migrate` first. It does no jobs.

    [bold]Examples[/bold]

      DATABASE_URL=postgresql://me@localhost/knowledge ragbase localrag
      PORT=8080 LOCALRAG_MODELS_DIR=/data/models ragbase localrag
    """
    from ragbase.cli.migrate import required_database
    from ragbase.cli.ports import claim, url_of
    from ragbase.cli.server import run_localrag
    from ragbase.settings import Settings
    from ragbase.telemetry.logs import configure_logging, get_logger

    settings = with_originals(Settings(), os.environ)
    given = {"host": host, "localrag_port": port}
    settings = settings.model_copy(
        update={name: value for name, value in given.items() if value is not None}
    )
    required_database(settings)
    configure_logging(settings.log_level, settings.log_format)
    with claim(settings.host, settings.localrag_port) as listener:
        run_localrag(
            settings,
            listener,
            lambda: get_logger("ragbase").info("listening", url=url_of(listener)),
        )


def with_originals(settings: Settings, environment: Mapping[str, str]) -> Settings:
    """The settings with the original's names read where ours are unset, and without workers.

    A GGUF file's name in EMBEDDING_MODEL is none of the served embedder's.
    """
    from pydantic import SecretStr

    update: dict[str, Any] = {"workers": 0}
    for name, field in ORIGINALS.items():
        value = environment.get(name, "")
        if not value or field in settings.model_fields_set:
            continue
        if field == "localrag_port":
            update[field] = _port(value)
        elif field == "localrag_openai_api_key":
            update[field] = SecretStr(value)
        else:
            update[field] = value
    file = update.get("localrag_embedding_model", "")
    if file and settings.engine == "onnx" and _is_gguf(file, settings):
        update["embedding_model"] = ""
    return settings.model_copy(update=update)


def _is_gguf(name: str, settings: Settings) -> bool:
    stem = name.removesuffix(".gguf")
    folder = settings.models_dir / "embedding"
    default = type(settings).model_fields["localrag_embedding_model"].default
    return name.endswith(".gguf") or stem == default or (folder / f"{stem}.gguf").is_file()


def _port(value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) > 65535:
        raise UsageError(f"PORT is no port: {value}")
    return int(value)
