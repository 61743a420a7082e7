"""``ragbase-operator run``, ``remove``, ``check`` and ``version``."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ragbase_operator import __version__

if TYPE_CHECKING:
    from ragbase_operator.settings import OperatorSettings

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status: 1 where it failed, 2 where it was asked wrongly."""
    chosen = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = chosen.run
    return command(chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ragbase-operator", description="Turns RagBase resources into retrieval stacks."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run", help="Run the operator until SIGTERM; settings: RAGBASE_OPERATOR_*."
    )
    run.set_defaults(run=_run)
    remove = commands.add_parser(
        "remove",
        help="Delete all custom resources in RAGBASE_OPERATOR_NAMESPACES, or everywhere, while an "
        "operator runs, and wait until they are gone.",
    )
    remove.add_argument("--timeout", type=float, default=240, metavar="SECONDS")
    remove.set_defaults(run=_remove)
    check = commands.add_parser("check", help="Ask an operator's metrics whether it is well.")
    check.add_argument("url", help="of its /metrics")
    check.add_argument("--timeout", type=float, default=60, metavar="SECONDS")
    check.set_defaults(run=_check)
    version = commands.add_parser("version", help="Print the version.")
    version.set_defaults(run=_version)
    return parser


def _version(_: argparse.Namespace) -> int:
    sys.stdout.write(f"{__version__}\n")
    return 0


def _run(_: argparse.Namespace) -> int:
    from ragbase_operator.handlers.operator import run_operator
    from ragbase_operator.logs import configure_logging

    settings = _settings()
    if settings is None:
        return 2
    configure_logging(settings.log_level, settings.log_format)
    asyncio.run(run_operator(settings))
    return 0


def _remove(chosen: argparse.Namespace) -> int:
    from ragbase_operator.cluster.client import KubernetesCluster
    from ragbase_operator.cluster.port import ClusterError
    from ragbase_operator.commands.remove import remove_resources

    settings = _settings()
    if settings is None:
        return 2

    async def remove() -> int:
        async with await KubernetesCluster.connect() as cluster:
            left = await remove_resources(cluster, settings.namespaces, chosen.timeout, _tell)
        for each in left:
            _tell(f"{each} is still there: does the operator run? Its status and logs say why.")
        return 1 if left else 0

    try:
        return asyncio.run(remove())
    except ClusterError as error:
        _tell(f"ragbase-operator: {error}")
        return 1


def _check(chosen: argparse.Namespace) -> int:
    from ragbase_operator.commands.check import NotWellError, check

    try:
        age_s = asyncio.run(check(chosen.url, chosen.timeout))
    except NotWellError as error:
        _tell(f"ragbase-operator: {error}")
        return 1
    _tell(f"the operator is well: its watch showed its heartbeat {age_s:.0f} s ago")
    return 0


def _settings() -> OperatorSettings | None:
    """What the environment says; None where that is wrong, which is told."""
    from ragbase_operator.settings import OperatorSettings

    try:
        settings = OperatorSettings()
        settings.default_images  # noqa: B018 - a wrong name is told now, not in the first pass
    except (ValidationError, ValueError) as error:
        _tell(f"ragbase-operator: {error}")
        return None
    return settings


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
