"""Tokens are the model's own: exact counts and offsets, slices that change nothing."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from ragbase_inference import tokens
from ragbase_inference.embedder import TextEmbedder
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.tokens import TextTokenizer

PROSE = "The quick brown fox, naïve as ever, saw 3.14 hens\nand  the café's 世界 hens again. " * 30
TEXTS = st.text(
    st.sampled_from("abcXé́世ก 🇫🇷👨‍👩‍👧\u200d\u00a0\t\n.,-'0123 ")
    | st.characters(exclude_categories=["Cs"]),
    max_size=200,
)


def byte_level(folder: Path) -> Path:
    """RoBERTa's kind: a space belongs to the word after it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([PROSE], trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def metaspace(folder: Path) -> Path:
    """XLM-R's kind: every word is marked at its start, the first one too."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>"
    )
    tokenizer.train_from_iterator([PROSE], trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session", params=["word_piece", "byte_level", "metaspace"])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: Any) -> TextTokenizer:
    if request.param == "word_piece":
        model: TextEmbedder = request.getfixturevalue("minilm")
        return model.tokenizer
    make = {"byte_level": byte_level, "metaspace": metaspace}[request.param]
    return TextTokenizer(make(tmp_path_factory.mktemp(request.param)))


def whole(tokenizer: TextTokenizer, text: str) -> Any:
    """Tokens of the text in one piece, straight from the library."""
    return tokenizer._inner.encode(text, add_special_tokens=False)


def same_spans(got: NDArray[np.int64], want: list[tuple[int, int]]) -> bool:
    """Equal; an empty span (a token of white space only) may stand on either side of it."""
    return len(got) == len(want) and all(
        tuple(ours) == theirs or (ours[0] == ours[1] and abs(ours - np.array(theirs)).max() <= 1)
        for ours, theirs in zip(got, want, strict=True)
    )


@given(TEXTS)
@settings(max_examples=150, deadline=None)
def test_slices_change_nothing(tokenizer: TextTokenizer, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_SLICE_CHARS", 7)
        want = whole(tokenizer, text)
        assert tokenizer.count([text, "", text]) == [len(want.ids), 0, len(want.ids)]
        assert same_spans(tokenizer.spans(text), want.offsets)
        (encoded,) = tokenizer.encode([text], limit=10_000)
        assert encoded.ids == tokenizer._inner.encode(text).ids
        assert not encoded.cut


def test_long_prose_is_sliced(tokenizer: TextTokenizer) -> None:
    text = PROSE * 20
    assert len(tokenizer._slices_of(text)) > 3
    assert "".join(tokenizer._slices_of(text)) == text
    want = whole(tokenizer, text)
    assert same_spans(tokenizer.spans(text), want.offsets)
    assert tokenizer.count([text]) == [len(want.ids)]


def test_spans_are_code_points(minilm: TextEmbedder) -> None:
    text = "👨‍👩‍👧 Ünïcode 世界 end"
    pieces = [text[start:end] for start, end in minilm.tokenizer.spans(text)]
    assert pieces[-1] == "end"
    assert pieces[-3:-1] == ["世", "界"]
    assert "".join(pieces).replace(" ", "").endswith("Ünïcode世界end")


def test_no_text_has_no_spans(minilm: TextEmbedder) -> None:
    assert minilm.tokenizer.spans("").shape == (0, 2)


def test_a_tokenizer_that_marks_every_text_is_not_sliced(tmp_path: Path) -> None:
    """Llama's kind puts a mark before whatever it is given: a slice would gain one."""
    metaspace(tmp_path)
    inner = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    from tokenizers import normalizers

    inner.normalizer = normalizers.Prepend("▁▁")
    inner.save(str(tmp_path / "tokenizer.json"))
    tokenizer = TextTokenizer(tmp_path)
    assert tokenizer._slices_of(PROSE * 20) == [PROSE * 20]


def test_published_truncation_and_padding_are_dropped(minilm: TextEmbedder) -> None:
    """MiniLM's file cuts at 128 tokens and pads to 128."""
    (short, long) = minilm.tokenizer.encode(["cat", "cat " * 200], limit=256)
    assert len(short) == 3
    assert len(long) == 202


@pytest.mark.parametrize("words", [253, 254, 255, 30_000])
def test_a_text_over_the_limit_loses_its_end(minilm: TextEmbedder, words: int) -> None:
    (encoded,) = minilm.tokenizer.encode(["cat " * words], limit=256)
    assert len(encoded) == min(words + 2, 256)
    assert encoded.cut == (words > 254)
    assert (encoded.ids[0], encoded.ids[-1]) == (101, 102)


def test_other_threads_go_on_while_a_text_without_lone_spaces_is_encoded(
    minilm: TextEmbedder,
) -> None:
    done = threading.Event()
    waits: list[int] = []

    def tick() -> None:
        while not done.wait(0.001):
            waits.append(1)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        (encoded,) = minilm.tokenizer.encode(["x" + " " * 1_000_000 + "y"], 8)
    finally:
        done.set()
        ticker.join()
    assert len(encoded) == 4
    assert len(waits) > 20  # about a thousand; none to three where the lock is kept


def test_special_tokens_are_counted(tokenizer: TextTokenizer) -> None:
    assert tokenizer.special_tokens == 2


@pytest.mark.parametrize("content", [None, "{}", "no JSON"])
def test_a_broken_tokenizer_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelUnavailableError, match=r"tokenizer\.json"):
        TextTokenizer(tmp_path)
