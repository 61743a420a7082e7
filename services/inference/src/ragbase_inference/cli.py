"""The command ``ragbase-inference``: flags out of the settings, errors that say what to do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic.fields import FieldInfo

__all__ = ["build_parser", "main"]

_DESCRIPTION = "Models behind the HTTP protocol of text-embeddings-inference (TEI), and more."
_SERVE = """\
Serve embedding models, rerankers, classifiers and entity recognisers over HTTP.

A model is told by its files; it comes from a folder, from the Hugging Face cache, or from the
hub. The port opens once all models are loaded, unless they are --lazy. Each flag can be set by
the environment variable named with it; a secret also by <NAME>_FILE, the path of a file.

  ragbase-inference serve
      the built-in MiniLM on port 8080
  ragbase-inference serve --model-id BAAI/bge-reranker-v2-m3 --port 8081
      a reranker: POST /rerank, /v1/rerank
  ragbase-inference serve --model bge=BAAI/bge-reranker-v2-m3 \\
      --model qwen=Qwen/Qwen3-Reranker-4B --lazy --idle-unload 900
      two models in one process, at /models/bge and /models/qwen, loaded when needed

SIGTERM and Ctrl-C close the port, let requests under way finish, and exit 0.
Exit codes: 0 ended by a signal, 1 a model cannot be had or the port is taken, 2 wrong flags.
"""
_GROUPS = {
    "model_id": "models",
    "hostname": "server",
    "max_client_batch_size": "batching and bounds",
    "log_level": "logs",
}
"""First setting of each group of the help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command; returns its exit code."""
    given = vars(build_parser().parse_args(arguments))
    given.pop("command")
    return _serve({name: value for name, value in given.items() if value is not None})


def _serve(given: dict[str, Any]) -> int:
    from pydantic import ValidationError

    from ragbase_inference.errors import ModelUnavailableError
    from ragbase_inference.server.logs import configure_logging
    from ragbase_inference.server.run import bind, open_from, run_server
    from ragbase_inference.server.settings import ServerSettings

    try:
        settings = ServerSettings(**given)
    except ValidationError as error:
        return _complain("\n".join(_problems(error)), 2)
    configure_logging(settings.log_level, settings.log_format)
    try:
        listener = bind(settings.hostname, settings.port)
    except OSError as error:
        return _complain(
            f"cannot listen on {settings.hostname} port {settings.port}: {error.strerror}; "
            "choose another with --port",
            1,
        )
    with listener:
        try:
            run_server(settings, listener, open_from(settings))
        except ModelUnavailableError as error:
            return _complain(str(error), 1)
        except KeyboardInterrupt:  # while models were loaded
            return 130
    return 0


def _complain(text: str, code: int) -> int:
    print(f"ragbase-inference: {text}", file=sys.stderr)  # noqa: T201 - a command's own voice
    return code


def _problems(error: ValidationError) -> list[str]:
    from ragbase_inference.server.settings import ServerSettings

    found = []
    for one in error.errors(include_url=False, include_input=False):
        name = str(one["loc"][0]) if one["loc"] else ""
        field = ServerSettings.model_fields.get(name) or next(
            (f for f in ServerSettings.model_fields.values() if name in _variables(f)), None
        )
        where = f"{_flag_of(field)} ({_variables(field)[0]}): " if field else ""
        found.append(where + one["msg"].removeprefix("Value error, "))
    return found


def build_parser() -> argparse.ArgumentParser:
    """The parser: a flag for each setting, in groups."""
    parser = argparse.ArgumentParser("ragbase-inference", description=_DESCRIPTION)
    from ragbase_inference import __version__

    parser.add_argument("--version", action="version", version=f"ragbase-inference {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    serve = commands.add_parser(
        "serve",
        help="serve models over HTTP",
        usage="%(prog)s [flags]",
        description=_SERVE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_flags(serve)
    return parser


def _add_flags(parser: argparse.ArgumentParser) -> None:
    from ragbase_inference.server.settings import ServerSettings

    group: Any = parser
    for name, field in ServerSettings.model_fields.items():
        if name in _GROUPS:
            group = parser.add_argument_group(_GROUPS[name])
        flags, options = _option(name, field)
        group.add_argument(*flags, dest=name, help=_help(field), **options)
        opposite = {"lazy": "--eager", "batching": "--no-batching"}.get(name)
        if opposite:
            group.add_argument(
                opposite, dest=name, action="store_const", const="false", help=argparse.SUPPRESS
            )


def _option(name: str, field: FieldInfo) -> tuple[list[str], dict[str, Any]]:
    """Flags of a setting, and argparse's options; values are checked by the settings."""
    flags = [f"--{name.replace('_', '-')}"]
    if field.annotation is bool:  # TEI's --auto-truncate may stand alone or before true or false
        return flags, {"nargs": "?", "const": "true", "metavar": "true|false"}
    if get_origin(field.annotation) is tuple:
        return flags, {"action": "append", "metavar": "NAME=ID"}
    choices = _choices(field.annotation)
    return flags, {"metavar": "|".join(choices) if choices else name.rpartition("_")[2].upper()}


def _choices(annotation: Any) -> list[str]:
    """Values of a Literal, also within a union."""
    found = [value for value in get_args(annotation) if isinstance(value, str)]
    nested = [value for part in get_args(annotation) for value in _choices(part)]
    return found + nested if get_args(annotation) else []


def _flag_of(field: FieldInfo) -> str:
    from ragbase_inference.server.settings import ServerSettings

    names = {id(known): name for name, known in ServerSettings.model_fields.items()}
    return f"--{names[id(field)].replace('_', '-')}"


def _variables(field: FieldInfo) -> list[str]:
    from pydantic import AliasChoices

    alias = field.validation_alias
    return [str(name) for name in alias.choices] if isinstance(alias, AliasChoices) else []


def _help(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    default: Any = extra.get("default_text") if isinstance(extra, dict) else None
    if default is None:
        default = _shown(field.default)
    facts = [f"env {_variables(field)[0]}"] + ([f"default {default}"] if default else [])
    return f"{field.description} [{'; '.join(facts)}]".replace("%", "%%")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | str) else ""
