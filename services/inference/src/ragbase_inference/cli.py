"""The command ``ragbase-inference``: flags out of the settings, errors that say what to do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

    from ragbase_inference.server.flags import Flag

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command; returns its exit code."""
    given = vars(build_parser().parse_args(arguments))
    if given.pop("command") == "flags":
        from ragbase_inference.server.flags import flags_page

        sys.stdout.write(flags_page())
        return 0
    return _serve({name: value for name, value in given.items() if value is not None})


def _serve(given: dict[str, Any]) -> int:
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from ragbase_inference.errors import ModelUnavailableError
    from ragbase_inference.server.logs import configure_logging
    from ragbase_inference.server.run import bind, open_from, run_server
    from ragbase_inference.server.settings import ServerSettings

    try:
        settings = ServerSettings(**given)
    except ValidationError as error:
        return _complain("\n".join(_problems(error)), 2)
    except SettingsError as error:  # a <NAME>_FILE that cannot be read
        return _complain(str(error.__cause__ or error), 2)
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
        except KeyboardInterrupt:  # a signal while models were loaded
            return 0
    return 0


def _complain(text: str, code: int) -> int:
    print(f"ragbase-inference: {text}", file=sys.stderr)  # noqa: T201 - a command's own voice
    return code


def _problems(error: ValidationError) -> list[str]:
    from ragbase_inference.server.flags import flags

    known = {key: flag for flag in flags() for key in (flag.setting, flag.variable)}
    found = []
    for one in error.errors(include_url=False, include_input=False):
        flag = known.get(str(one["loc"][0])) if one["loc"] else None
        where = f"{flag.name} ({flag.variable}): " if flag else ""
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
    commands.add_parser("flags", help="print the flags of serve as a Markdown page")
    return parser


def _add_flags(parser: argparse.ArgumentParser) -> None:
    from ragbase_inference.server.flags import flags

    groups: dict[str, Any] = {}
    for flag in flags():
        group = groups.get(flag.group) or parser.add_argument_group(flag.group.lower())
        groups[flag.group] = group
        text = f"{flag.text} [{flag.facts}]".replace("%", "%%")
        group.add_argument(flag.name, dest=flag.setting, help=text, **_argparse_options(flag))
        if flag.opposite:
            group.add_argument(
                flag.opposite,
                dest=flag.setting,
                action="store_const",
                const="false",
                help=argparse.SUPPRESS,
            )


def _argparse_options(flag: Flag) -> dict[str, Any]:
    """Values are checked by the settings, not here."""
    if flag.form == "switch":  # TEI's --auto-truncate may stand alone or before true or false
        return {"nargs": "?", "const": "true", "metavar": "true|false"}
    if flag.form == "repeated":
        return {"action": "append", "metavar": "NAME=ID"}
    return {"metavar": "|".join(flag.values) or flag.setting.rpartition("_")[2].upper()}
