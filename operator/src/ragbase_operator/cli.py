"""``ragbase-operator run`` and ``ragbase-operator version``."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from pydantic import ValidationError

from ragbase_operator import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    command = _parser().parse_args(arguments).command
    if command == "version":
        sys.stdout.write(f"{__version__}\n")
        return 0
    return _run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ragbase-operator", description="Turns RagBase resources into retrieval stacks."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="Run the operator until SIGTERM; settings: RAGBASE_OPERATOR_*.")
    commands.add_parser("version", help="Print the version.")
    return parser


def _run() -> int:
    from ragbase_operator.handlers.operator import run_operator
    from ragbase_operator.logs import configure_logging
    from ragbase_operator.settings import OperatorSettings

    try:
        settings = OperatorSettings()
        settings.default_images  # noqa: B018 - a wrong name is told now, not in the first pass
    except (ValidationError, ValueError) as error:
        sys.stderr.write(f"ragbase-operator: {error}\n")
        return 2
    configure_logging(settings.log_level, settings.log_format)
    asyncio.run(run_operator(settings))
    return 0
