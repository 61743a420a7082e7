"""NER by a GLiNER model behind RagBase's inference server: ``POST /v1/ner``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ragbase.clients.answers import TransientError, json_of, nothing
from ragbase.clients.batches import batches
from ragbase.clients.http import AsyncHttp, Endpoint
from ragbase.clients.ner import DEFAULT_LABELS, NerInfo, NerSpan
from ragbase.clients.permits import Permits
from ragbase.clients.remote import gathered
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.server_role import ServerRole
from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import DeadlineExceededError, UnavailableError

__all__ = ["NER", "RemoteNer"]

NER = ServerRole("NER server", "RAGBASE_NER_URL", "RAGBASE_NER_API_KEY")
BATCH: Final = 32
"""Texts a request: what inference servers take by default."""
IN_FLIGHT: Final = 64
"""Texts: one request being computed, one waiting."""
PING_S: Final = 4.0


class RemoteNer:
    """A `Ner` over HTTP that looks for ``labels`` where a call names none."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        labels: Sequence[str] = (),
        threshold: float = 0.45,
        timeout_s: float = 60.0,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._http = AsyncHttp(Endpoint.parse(url, api_key, NER), timeout_s=timeout_s)
        self._labels = list(labels or DEFAULT_LABELS)
        self._threshold = threshold
        self._retry = retry or RetryPolicy()
        self._permits = Permits(IN_FLIGHT)
        self.info = NerInfo(f"gliner {threshold:g} {','.join(self._labels)}")

    async def spans(
        self, texts: Sequence[str], *, labels: Sequence[str] = (), within_s: float | None = None
    ) -> list[list[NerSpan]]:
        """See `Ner.spans`. Blank texts hold nothing and are not sent."""
        policy = self._retry if within_s is None else self._retry.for_queries(within_s)
        asked = [number for number, text in enumerate(texts) if text.strip()]
        wanted = list(labels or self._labels)
        with _translated():
            parts = await gathered(
                [
                    self._asked(list(batch.texts), wanted, policy)
                    for batch in batches([texts[number] for number in asked], BATCH)
                ]
            )
        found: list[list[NerSpan]] = [[] for _ in texts]
        answered = [spans for part in parts for spans in part]
        for number, spans in zip(asked, answered, strict=True):
            found[number] = spans
        return found

    async def ping(self) -> None:
        """Return when the server is well."""
        with _translated():
            await self._http.call("GET", "health", read=nothing, policy=RetryPolicy.once(PING_S))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _asked(
        self, texts: list[str], labels: list[str], policy: RetryPolicy
    ) -> list[list[NerSpan]]:
        async with self._permits.take(len(texts)):
            return await self._http.call(
                "POST",
                "v1/ner",
                {"texts": texts, "labels": labels, "threshold": self._threshold},
                read=lambda answer: _spans(json_of(answer), texts),
                policy=policy,
            )


def _spans(raw: Any, texts: Sequence[str]) -> list[list[NerSpan]]:
    """The spans of each text. Raises `UnusableAnswerError` where the answer is of another form."""
    try:
        results = sorted(raw["results"], key=lambda result: result["index"])
        if [result["index"] for result in results] != list(range(len(texts))):
            raise UnusableAnswerError("The NER server answered for other texts than were sent.")
        return [
            [_span(span, text) for span in result["spans"]]
            for result, text in zip(results, texts, strict=True)
        ]
    except (KeyError, TypeError, ValueError):
        raise UnusableAnswerError("The NER server sent no list of spans.") from None


def _span(raw: Any, text: str) -> NerSpan:
    start, end, score = int(raw["start"]), int(raw["end"]), float(raw["score"])
    if not 0 <= start < end <= len(text) or not 0 <= score <= 1:
        raise UnusableAnswerError("The NER server sent a span that lies outside its text.")
    return NerSpan(start, end, str(raw["label"]).strip().lower(), score)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except TransientError as error:
        if error.late:
            raise DeadlineExceededError(error.message, code="ner_timeout") from None
        raise UnavailableError(error.message, code="ner_unavailable") from None
