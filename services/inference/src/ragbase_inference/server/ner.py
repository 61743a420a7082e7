"""``/v1/ner``: spans of texts that bear one of the labels asked for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from starlette.responses import Response

from ragbase_inference.kinds import NerText, Span
from ragbase_inference.server.body import parse_body
from ragbase_inference.server.call import Call
from ragbase_inference.server.compute import Compute
from ragbase_inference.server.errors import empty_error
from ragbase_inference.server.requests import Texts, WireModel

__all__ = ["NerRequest", "ner"]

Label = Annotated[str, Field(min_length=1, max_length=200)]


class NerRequest(WireModel):
    """Texts to be looked through, and what to look for; ``model`` is ignored."""

    texts: Texts
    labels: list[Label] = Field(
        min_length=1,
        max_length=200,
        examples=[["person", "ship"]],
        description="Kinds of entities.",
    )
    threshold: float = Field(
        0.5, ge=0.0, le=1.0, allow_inf_nan=False, description="Least score of a span."
    )
    model: str | None = None


async def ner(call: Call, raw: bytes) -> Response:
    """Spans of each text in order of their start; start and end are code points."""
    body = parse_body(NerRequest, raw)
    texts = [body.texts] if isinstance(body.texts, str) else body.texts
    labels = tuple(dict.fromkeys(body.labels))
    with call.admitted(len(texts), "texts"):
        if not all(texts):
            raise empty_error("texts", "tokenization")
        running = await call.served.running()
        running.ner()
        call.metrics.admitted("predict", len(texts))
        items = [NerText(text, labels, body.threshold) for text in texts]
        outcome = await running.run("spans", items)
        compute = Compute.of(
            outcome, running.facts, characters=sum(map(len, texts)), tokenization_s=0.0
        )
        call.metrics.came_through("predict", compute)
    results = [
        {"index": index, "spans": [_span(text, span) for span in spans]}
        for index, (text, spans) in enumerate(zip(texts, outcome.results, strict=True))
    ]
    answer = {"object": "list", "model": call.served.spec.shown_name, "results": results}
    return call.answer(answer, compute)


def _span(text: str, span: Span) -> dict[str, Any]:
    return {
        "start": span.start,
        "end": span.end,
        "text": text[span.start : span.end],
        "label": span.label,
        "score": span.score,
    }
