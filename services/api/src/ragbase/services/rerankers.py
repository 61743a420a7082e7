"""The configured rerankers: which one a request gets, and who stands in when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from ragbase.errors import InvalidInputError, RagBaseError
from ragbase.services.named_reranker import NamedReranker
from ragbase.settings.reranking import CONTRACT_RERANKERS, MS_MARCO
from ragbase.telemetry.logs import get_logger

__all__ = ["Choice", "Rerankers", "Scores"]

NONE: Final = (
    "No reranker is configured on this server. Set RERANKER_URL or RAGBASE_RERANKERS to use a "
    f"server, or RAGBASE_RERANK_MODEL (such as {MS_MARCO}) to run one in this process"
)
LEAST_S = 0.05
"""No stand-in is asked with less time left."""

_log = get_logger("ragbase.reranker")


@dataclass(frozen=True, slots=True)
class Choice:
    """The reranker to use, if any.

    ``fallback``: it stands in for another that was asked for and is not configured. ``missing``:
    why there is none, and what to do, for people.
    """

    reranker: NamedReranker | None
    fallback: bool = False
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Scores:
    """One score a text, given ``by`` a reranker after those in ``failed`` could not."""

    values: list[float]
    by: NamedReranker
    failed: tuple[tuple[NamedReranker, Exception], ...] = ()


class Rerankers:
    """By name; ``default`` also stands in for the contract's names that are not configured."""

    def __init__(
        self, configured: Mapping[str, NamedReranker] | None = None, *, missing: str = NONE
    ) -> None:
        self._configured = dict(configured or {})
        self._missing = missing

    @property
    def all(self) -> Mapping[str, NamedReranker]:
        """Every one that is or may come into use, by name."""
        return self._configured

    def choose(self, name: str | None, *, asked: bool = True) -> Choice:
        """The reranker called ``name`` (None: ``default``), or what stands in for it.

        ``asked``: the request itself wants reranking, which loads what is loaded on demand. Raises
        `InvalidInputError` for a name that is neither the contract's nor configured.
        """
        wanted = name or "default"
        if wanted not in self._configured and wanted not in CONTRACT_RERANKERS:
            names = ", ".join(dict.fromkeys((*CONTRACT_RERANKERS, *self._configured)))
            raise InvalidInputError(
                f"There is no reranker of that name. Use one of {names}, or leave rerank_model out.",
                code="unknown_reranker",
                field="rerank_model",
            )
        found = self._configured.get(wanted) or self._configured.get("default")
        if found is None:
            return Choice(None, missing=f"{self._missing}.")
        if found.in_use:
            return Choice(found, fallback=found.name != wanted)
        state = found.wake() if asked else ""
        return Choice(None, missing=f"{self._missing}. {state}".strip())

    async def score(
        self, chosen: NamedReranker, query: str, texts: Sequence[str], *, within_s: float
    ) -> Scores:
        """Scores by ``chosen``, else by its stand-ins, all of them within ``within_s`` seconds.

        Raises what ``chosen`` raised when none could; `InvalidInputError` is raised at once.
        """
        deadline = monotonic() + within_s
        failed: list[tuple[NamedReranker, Exception]] = []
        for reranker in self._in_turn(chosen):
            left = deadline - monotonic()
            if failed and left < LEAST_S:
                break
            try:
                values = await reranker.score(query, texts, within_s=left)
            except InvalidInputError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever breaks one, the next may do
                failed.append((reranker, error))
                self._report(reranker, error)
            else:
                return Scores(values, reranker, tuple(failed))
        raise failed[0][1]

    def _in_turn(self, chosen: NamedReranker) -> Iterator[NamedReranker]:
        """``chosen``, its fallback, the fallback's, and so on, none of them twice."""
        seen: set[str] = set()
        found: NamedReranker | None = chosen
        while found is not None and found.name not in seen:
            seen.add(found.name)
            yield found
            found = self._configured.get(found.fallback or "")

    @staticmethod
    def _report(reranker: NamedReranker, error: Exception) -> None:
        known = isinstance(error, RagBaseError)
        _log.warning(
            "rerank_failed",
            reranker=reranker.name,
            reason=error.message if isinstance(error, RagBaseError) else type(error).__name__,
            exc_info=None if known else error,
        )

    async def aclose(self) -> None:
        """Release all clients."""
        await asyncio.gather(*(each.aclose() for each in self._configured.values()))
