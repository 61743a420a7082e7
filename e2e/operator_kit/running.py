"""The operator as a process of its own, with an API that always answers."""

from __future__ import annotations

import asyncio
import os
import sys

from ragbase_operator.handlers.operator import run_operator
from ragbase_operator.logs import configure_logging
from ragbase_operator.reconcile.probe import Counts, SearchAnswer
from ragbase_operator.settings import OperatorSettings


class Answering:
    """A probe of an API that is well; documents as the environment says."""

    async def search(self, url: str, key: str | None) -> SearchAnswer:  # noqa: ARG002 - one API
        return SearchAnswer(ok=key is not None, message="" if key else "no key")

    async def count(self, url: str, key: str | None) -> Counts | None:  # noqa: ARG002 - one API
        return Counts(int(os.environ.get("DOCUMENTS", "5")), 10, 0)

    async def projection(self, url: str, key: str | None) -> str | None:  # noqa: ARG002 - one API
        return "connected"


if __name__ == "__main__":
    configure_logging("info", "json")
    asyncio.run(run_operator(OperatorSettings(), probe=Answering()))
    sys.exit(0)
