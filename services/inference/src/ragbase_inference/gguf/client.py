"""What is asked of a llama.cpp server over HTTP, whether we started it or another did.

Routes: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from ragbase_inference.errors import ModelFailedError, NotFiniteError, TextTooLongError

__all__ = ["LlamaClient"]

_CONNECTIONS = 24
"""Fewer than the server has threads: each connection holds one."""
_CONNECT_S = 5.0
_PROBE_S = 2.0
_STOP = ["\nHuman:", "\nSystem:"]
_COUNTED_AT_ONCE = 4096
"""Texts of a request for counts, which other callers of the server wait for."""
_COUNTED_CHARS = 1 << 18
"""Characters of them, unless a single text has more."""
_BETWEEN = -1
"""No token has this number: llama.cpp takes numbers among texts for tokens, and gives them back."""


class LlamaClient:
    """Blocking; safe to call from any thread.

    All methods raise `ModelFailedError` where the server is away, too slow, or answers with what
    cannot be used.
    """

    def __init__(
        self, *, url: str = "http://llama", socket: Path | None = None, key: str = "",
        timeout_s: float,
    ) -> None:  # fmt: skip
        """Of the server at ``url``, or at a Unix ``socket``; ``key`` is its API key."""
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            transport=httpx.HTTPTransport(
                uds=str(socket) if socket else None,
                limits=httpx.Limits(
                    max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS
                ),
            ),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(timeout_s, connect=_CONNECT_S, pool=timeout_s),
        )
        self._specials: int | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, one row a text; `NotFiniteError` where one is not."""
        asked = {"input": list(texts), "encoding_format": "base64"}
        rows = _ordered(self._post("/v1/embeddings", asked).get("data"), len(texts))
        vectors = [_vector(row.get("embedding")) for row in rows]
        if not vectors or len({len(vector) for vector in vectors}) > 1:
            raise ModelFailedError("the model's server gave vectors of several lengths")
        found = np.stack(vectors)
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        if not np.isfinite(found).all() or not (norms > 0).all():
            raise NotFiniteError("the model gave a vector of zeros or of no numbers")
        unit: NDArray[np.float32] = found / norms
        return unit

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """llama.cpp's score of each text, in the order of ``texts``."""
        found = self._post("/v1/rerank", {"query": query, "documents": list(texts)})
        rows = _ordered(found.get("results"), len(texts))
        try:
            scores = np.array([row["relevance_score"] for row in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFailedError("the model's server gave no scores") from error
        if not np.isfinite(scores).all():
            raise NotFiniteError("the model gave scores that are no numbers")
        return scores

    def chat(self, prompt: str, *, max_tokens: int, temperature: float) -> str:
        """The answer to one user message, by the model's own template."""
        asked = {
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": max_tokens,
            "temperature": temperature,
            "chat_template_kwargs": {"enable_thinking": False},
        }
        try:
            text = self._post("/v1/chat/completions", asked)["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError) as error:
            raise ModelFailedError("the model's server gave no answer") from error
        return str(text or "").strip()

    def complete(self, prompt: str, *, max_tokens: int, temperature: float) -> str:
        """The same of a model without a template, by a plain one."""
        asked = {
            "prompt": f"Human: {prompt}\n\nAssistant:",
            "n_predict": max_tokens,
            "temperature": temperature,
            "stop": _STOP,
        }
        text = self._post("/completion", asked).get("content")
        if not isinstance(text, str):
            raise ModelFailedError("the model's server gave no answer")
        return text.strip()

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text``, special ones included."""
        return len(self._tokens(text, special=True))

    def count_each(self, texts: Sequence[str]) -> list[int]:
        """The same of each text, by a request for thousands: one has a price, however short."""
        if len(texts) < 2:
            return [self.count_tokens(text) for text in texts]
        if self._specials is None:
            self._specials = self.count_tokens("")
        return [
            self._specials + count
            for part in _counted_at_once(texts)
            for count in self._counts(part)
        ]

    def _counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text without special ones, which a list as a whole would get once."""
        content: list[str | int] = [_BETWEEN] * (2 * len(texts) - 1)
        content[::2] = texts
        counts = [0]
        for token in self._tokens(content, special=False):
            if token == _BETWEEN:
                counts.append(0)
            else:
                counts[-1] += 1
        if len(counts) != len(texts):
            raise ModelFailedError("the model's server does not tell the texts' tokens apart")
        return counts

    def _tokens(self, content: str | list[str | int], *, special: bool) -> list[Any]:
        tokens = self._post("/tokenize", {"content": content, "add_special": special}).get("tokens")
        if not isinstance(tokens, list):
            raise ModelFailedError("the model's server gave no tokens")
        return tokens

    def context(self) -> int:
        """Most tokens of an input, as the server is set up."""
        answer = self._ask("GET", "/props")
        try:
            return int(answer["default_generation_settings"]["n_ctx"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFailedError("the model's server does not tell its context") from error

    def answers(self) -> bool:
        """Whether the server is there and has its model loaded."""
        try:
            return self._http.get("/health", timeout=_PROBE_S).is_success
        except httpx.HTTPError:
            return False

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._ask("POST", path, body)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.TimeoutException as error:
            raise ModelFailedError("the model took too long") from error
        except (httpx.HTTPError, RuntimeError) as error:  # RuntimeError: closed meanwhile
            raise ModelFailedError("the model's server does not answer") from error
        try:
            answer = response.json()
        except ValueError as error:
            raise ModelFailedError(f"the model's server answered {response.status_code}") from error
        if not response.is_success or not isinstance(answer, dict):
            raise _refusal(response.status_code, answer)
        return answer

    def close(self) -> None:
        """Release the connections."""
        self._http.close()


def _counted_at_once(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in parts that are asked for at once."""
    start = chars = 0
    for end, text in enumerate(texts):
        if end > start and (end - start == _COUNTED_AT_ONCE or chars + len(text) > _COUNTED_CHARS):
            yield texts[start:end]
            start, chars = end, 0
        chars += len(text)
    yield texts[start:]


def _refusal(status: int, answer: Any) -> ModelFailedError | TextTooLongError:
    told = answer.get("error") if isinstance(answer, dict) else None
    told = told if isinstance(told, dict) else {}
    if told.get("type") == "exceed_context_size_error":
        return TextTooLongError(0, int(told.get("n_prompt_tokens", 0)), int(told.get("n_ctx", 0)))
    return ModelFailedError(f"the model's server answered {status}: {told.get('message', '')}")


def _ordered(rows: Any, count: int) -> list[dict[str, Any]]:
    """Rows by their ``index``; `ModelFailedError` unless there is one of each."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ModelFailedError("the model's server gave no list of results")
    by_index = {row.get("index"): row for row in rows}
    if len(rows) != count or set(by_index) != set(range(count)):
        raise ModelFailedError(f"the model's server gave {len(rows)} results for {count} texts")
    return [by_index[index] for index in range(count)]


def _vector(given: Any) -> NDArray[np.float32]:
    try:
        return np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4")
    except (TypeError, ValueError, binascii.Error) as error:
        raise ModelFailedError("the model's server gave no vectors") from error
