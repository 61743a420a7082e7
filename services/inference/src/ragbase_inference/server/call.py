"""One request to one model: reading it, watching its client, answering its errors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeAlias, TypeVar

import numpy as np
import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ragbase_inference.errors import InferenceError
from ragbase_inference.server.body import read_body
from ragbase_inference.server.compute import Compute
from ragbase_inference.server.errors import (
    ApiError,
    ErrorType,
    RejectedError,
    Shape,
    api_error,
    empty_error,
)
from ragbase_inference.server.metrics import Method, ModelMetrics
from ragbase_inference.serving.served import ServedModel

__all__ = ["BodyBounds", "Call", "Handler", "json_bytes", "respond"]

T = TypeVar("T")

_PREFIX = "Input validation error: "
_GONE = Response(status_code=499)
"""Nobody hears it."""


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """Most bytes of a body, and the seconds in which it must be there."""

    limit: int
    within_s: float


@dataclass(slots=True)
class Call:
    """A request whose body has been read."""

    served: ServedModel
    metrics: ModelMetrics
    started: float = field(default_factory=perf_counter)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the body was there."""
        return perf_counter() - self.started

    @contextmanager
    def admitted(self, count: int, field_name: str, method: Method = "batch") -> Iterator[None]:
        """Check the number of inputs and hold a permit for each; raises `ApiError` at once."""
        self.metrics.begun(method)
        if count == 0:
            raise empty_error(field_name, prefix=_PREFIX if field_name == "inputs" else "")
        self.check_batch(count)
        with self.served.admitted(count):
            yield

    def check_batch(self, count: int) -> None:
        """Refuse more inputs than a request may have."""
        most = self.served.options.max_client_batch_size
        if count > most:
            raise ApiError(
                ErrorType.VALIDATION,
                f"batch size {count} > maximum allowed batch size {most}",
                "batch_size",
            )

    def cut(self, truncate: bool | None) -> bool:
        """Whether inputs are cut: as the request says, else as the server is set."""
        return self.served.options.auto_truncate if truncate is None else truncate

    def answer(self, body: Any, compute: Compute, method: Method = "batch") -> Response:
        """200 with what it cost."""
        content = json_bytes(body)
        total_s = self.elapsed_s
        self.metrics.answered(method, compute, total_s)
        return Response(content, 200, compute.headers(total_s), media_type="application/json")


Handler: TypeAlias = Callable[[Call, bytes], Coroutine[Any, Any, Response]]
"""From a request's body to its answer."""


def json_bytes(body: Any) -> bytes:
    """JSON of Python and numpy values; float32 as its shortest digits."""
    return orjson.dumps(body, default=_contiguous, option=orjson.OPT_SERIALIZE_NUMPY)


def _contiguous(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def respond(
    handler: Handler,
    served: ServedModel,
    metrics: ModelMetrics,
    bounds: BodyBounds,
    shape: Shape,
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint: read, hand over, answer errors in the route's shape."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await read_body(request, limit=bounds.limit, within_s=bounds.within_s)
            return await _unless_gone(request, handler(Call(served, metrics), body))
        except RejectedError as refusal:
            return refusal.response()
        except InferenceError as error:
            refused = api_error(error)
        except ApiError as error:
            refused = error
        except ClientDisconnect:
            return _GONE
        metrics.failed(refused.reason)
        return refused.response(shape)

    return endpoint


async def _unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Result of ``work``, cancelled when the client disconnects (`ClientDisconnect`)."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise ClientDisconnect
    finally:
        gone.cancel()
        task.cancel()


async def _disconnected(request: Request) -> None:
    """Return when the client has closed the connection; its body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
