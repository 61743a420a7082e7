"""Tokens as a person sees them, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase_inference.embedder import TextEmbedder
from ragbase_inference.token_text import TokenText


def test_tokens_bear_their_text_and_its_bytes(minilm: TextEmbedder) -> None:
    """As text-embeddings-inference answers on ``/tokenize``."""
    assert minilm.tokenizer.explain("hello, wörld") == [
        TokenText(101, "[CLS]", True, None, None),
        TokenText(7592, "hello", False, 0, 5),
        TokenText(1010, ",", False, 5, 6),
        TokenText(2088, "wörld", False, 7, 13),
        TokenText(102, "[SEP]", True, None, None),
    ]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_bytes_are_those_of_the_text(minilm: TextEmbedder, text: str) -> None:
    whole = text.encode()
    for token in minilm.tokenizer.explain(text, special=False):
        assert not token.special
        assert token.start is not None
        assert whole[token.start : token.stop].decode() == token.text


def test_nothing_is_cut(minilm: TextEmbedder) -> None:
    assert len(minilm.tokenizer.explain("cat " * 600)) == 602
    assert len(minilm.tokenizer.explain("cat " * 600, special=False)) == 600


def test_decode(minilm: TextEmbedder) -> None:
    assert minilm.tokenizer.decode([101, 7592, 2088, 102]) == "hello world"
    assert minilm.tokenizer.decode([101, 7592], skip_special=False) == "[CLS] hello"
    assert minilm.tokenizer.decode([]) == ""


@pytest.mark.parametrize("unknown", [30522, 99999, 2**32 - 1, 2**64, -1])
def test_an_unknown_token_is_an_error_not_a_crash(minilm: TextEmbedder, unknown: int) -> None:
    with pytest.raises(ValueError, match=str(unknown)):
        minilm.tokenizer.decode([101, unknown])
