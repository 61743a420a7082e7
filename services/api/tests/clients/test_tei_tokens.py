"""The server's tokens, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ragbase.clients.http import Endpoint, SyncHttp
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.tei_tokens import TeiTokenizer
from ragbase.errors import EmbedderUnavailableError, InvalidInputError, UpstreamError


@pytest.fixture
def tokenizer(stub: Any, quick: RetryPolicy) -> Iterator[TeiTokenizer]:
    made = TeiTokenizer(SyncHttp(Endpoint.parse(stub.url), timeout_s=10), quick)
    yield made
    made.close()


def _words(tokenizer: TeiTokenizer, text: str) -> list[str]:
    return [text[start:end] for start, end in tokenizer.spans(text)]


def test_spans_are_code_points(tokenizer: TeiTokenizer) -> None:
    text = "Héllo, wörld! 漢字 😀😀 end"
    assert _words(tokenizer, text) == ["Héllo", ",", "wörld", "!", "漢字", "😀😀", "end"]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_blank_texts_have_no_tokens(tokenizer: TeiTokenizer, text: str) -> None:
    assert tokenizer.spans(text).shape == (0, 2)
    assert tokenizer.count([text, "a"]) == [0, 1]


def test_counts_are_those_of_the_spans(tokenizer: TeiTokenizer) -> None:
    texts = ["one", "", "two words", "Ünïcödé, three!"] * 9
    assert tokenizer.count(texts) == [len(tokenizer.spans(text)) for text in texts]
    assert tokenizer.count([]) == []


def test_more_inputs_than_the_server_takes_are_halved_once(
    tokenizer: TeiTokenizer, stub: Any
) -> None:
    """33 inputs are a 422 on TEI; this one takes 4."""
    assert tokenizer.count(["a b"] * 33) == [2] * 33
    stub.calls.clear()
    assert tokenizer.count(["a b"] * 33) == [2] * 33
    assert max(len(call.payload["inputs"]) for call in stub.calls) == 4
    assert len(stub.calls) == 9


def test_a_long_text_goes_in_slices(tokenizer: TeiTokenizer, stub: Any) -> None:
    text = "größe " * 50_000 + "漢" * 60_000
    spans = tokenizer.spans(text)
    assert np.all(spans[1:, 0] >= spans[:-1, 1])
    assert all(text[start:end] == "größe" for start, end in spans[:50_000:997])
    assert len(stub.calls) > 3
    sizes = [sum(len(t.encode()) for t in call.payload["inputs"]) for call in stub.calls]
    assert max(sizes) <= 256 * 1024
    # a run without spaces is one token of this server a slice; nothing of it is lost
    assert "".join(text[start:end] for start, end in spans[50_000:]) == "漢" * 60_000
    assert tokenizer.count([text, "a"]) == [len(spans), 1]


def test_bytes_of_one_character_are_the_whole_character(tokenizer: TeiTokenizer, stub: Any) -> None:
    """Byte-level BPE cuts 😀 (4 bytes) into two tokens."""
    stub.offsets = [(0, 1), (1, 3), (3, 5), (5, 6)]
    assert _words(tokenizer, "a😀b") == ["a", "😀", "😀", "b"]


def test_a_token_without_offsets_is_empty_where_it_stands(
    tokenizer: TeiTokenizer, stub: Any
) -> None:
    stub.offsets = [(0, 2), (None, None), (3, 4)]
    assert tokenizer.spans("é b").tolist() == [[0, 1], [1, 1], [2, 3]]


@pytest.mark.parametrize("offset", [(0, 99), (-1, 1), (2, 1), ("0", "1"), (0.0, 1.0)])
def test_offsets_outside_of_the_text_are_refused(
    tokenizer: TeiTokenizer, stub: Any, offset: tuple[Any, Any]
) -> None:
    stub.offsets = [offset]
    with pytest.raises(UpstreamError, match="outside"):
        tokenizer.spans("a b")


def test_failures_are_retried_and_reported(unused_tcp_port: int) -> None:
    endpoint = Endpoint.parse(f"http://127.0.0.1:{unused_tcp_port}")
    tokenizer = TeiTokenizer(
        SyncHttp(endpoint, timeout_s=1), RetryPolicy(attempts=2, first_wait_s=0.001)
    )
    with pytest.raises(EmbedderUnavailableError, match="cannot be reached"):
        tokenizer.count(["a"])
    tokenizer.close()


def test_a_refused_text_is_an_error_and_not_a_guess(tokenizer: TeiTokenizer, stub: Any) -> None:
    stub.max_batch = 0
    with pytest.raises((UpstreamError, InvalidInputError)):
        tokenizer.count(["a", "b"])
