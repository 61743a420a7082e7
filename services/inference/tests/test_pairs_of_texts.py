"""Pairs are joined and cut as the model's own tokenizer library would do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, processors

from ragbase_inference.errors import ModelUnavailableError, TextTooLongError
from ragbase_inference.pair_template import longest_first
from ragbase_inference.tokens import Encoded, TextTokenizer

from .conftest import word_piece

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=30).map(" ".join)
PROCESSORS = {
    "bert": processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    ),
    "bert, its own class": processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)),
    "roberta": processors.RobertaProcessing(("[SEP]", 3), ("[CLS]", 2), add_prefix_space=False),
    "xlm-r": processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    ),
    "no special tokens at the end": processors.TemplateProcessing(
        single="[CLS] $A", pair="[CLS] $A [SEP] $B:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    ),
}


def tokenizers(folder: Path, processor: Any) -> tuple[TextTokenizer, Tokenizer]:
    """Ours, and the library's own to compare with."""
    inner = word_piece()
    inner.post_processor = processor
    inner.save(str(folder / "tokenizer.json"))
    return TextTokenizer(folder), inner


@pytest.fixture(scope="module", params=PROCESSORS)
def both(request: Any, tmp_path_factory: Any) -> tuple[TextTokenizer, Tokenizer]:
    return tokenizers(tmp_path_factory.mktemp("tokenizer"), PROCESSORS[request.param])


@given(first=WORDS, second=WORDS, limit=st.integers(4, 70), side=st.sampled_from(["left", "right"]))
@settings(max_examples=60, deadline=None)
def test_a_pair_is_what_the_library_makes_of_it(
    both: tuple[TextTokenizer, Tokenizer], first: str, second: str, limit: int, side: Any
) -> None:
    ours, library = both
    library.enable_truncation(limit, strategy="longest_first", direction=side)
    want = library.encode(first, second)
    (got,) = ours.encode_pairs([(first, second)], limit, cut=side)
    assert got.ids == want.ids
    assert got.segments == want.type_ids
    assert got.cut == bool(want.overflowing)


@given(first=st.integers(0, 99), second=st.integers(0, 99), room=st.integers(0, 150))
def test_the_longer_text_gives_up_tokens_first(first: int, second: int, room: int) -> None:
    ones, twos = longest_first(first, second, room)
    assert 0 <= ones <= first
    assert 0 <= twos <= second
    assert ones + twos == min(room, first + second)
    if ones < first and twos < second:
        assert abs(ones - twos) <= 1
    elif ones < first:
        assert ones >= twos - (first == second)  # of equal ones, the first loses the odd token
    elif twos < second:
        assert twos >= ones


@given(text=WORDS, limit=st.integers(4, 40), side=st.sampled_from(["left", "right"]))
@settings(max_examples=60, deadline=None)
def test_a_lone_text_is_cut_at_the_side_asked_for(
    both: tuple[TextTokenizer, Tokenizer], text: str, limit: int, side: Any
) -> None:
    ours, library = both
    library.enable_truncation(limit, direction=side)
    want = library.encode(text).ids
    assert ours.encode([text], limit, cut=side)[0].ids == want
    assert ours.encode_pairs([(text, None)], limit, cut=side)[0] == Encoded(
        want, ours.count([text])[0] > limit - ours.special_tokens
    )


def test_nothing_is_cut_unasked(tmp_path: Path) -> None:
    ours, _ = tokenizers(tmp_path, PROCESSORS["bert"])
    pairs = [("a", "b"), ("a b", "c d e"), ("a b c d e f g", None)]
    assert not any(one.cut for one in ours.encode_pairs(pairs, 9, cut=None))
    with pytest.raises(TextTooLongError) as caught:
        ours.encode_pairs(pairs, 7, cut=None)
    assert (caught.value.index, caught.value.tokens, caught.value.limit) == (1, 8, 7)
    with pytest.raises(TextTooLongError) as lone:
        ours.encode_pairs([("a", None), ("a b c d e f g", None)], 8, cut=None)
    assert (lone.value.index, lone.value.tokens) == (1, 9)


def test_special_tokens_can_be_left_out(tmp_path: Path) -> None:
    ours, library = tokenizers(tmp_path, PROCESSORS["bert"])
    (bare,) = ours.encode(["a b c d"], 3, special=False)
    assert bare == Encoded(library.encode("a b c", add_special_tokens=False).ids, cut=True)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "unit", ["the cat ", "世", "a-", "cat  "], ids=["words", "no spaces", "one word", "double"]
)
def test_of_a_huge_text_only_one_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: Any, unit: str
) -> None:
    ours, library = tokenizers(tmp_path, PROCESSORS["bert"])
    read: list[int] = []
    encode = TextTokenizer._encode

    def counted(self: TextTokenizer, texts: Any) -> Any:
        read.append(sum(map(len, texts)))
        return encode(self, texts)

    monkeypatch.setattr(TextTokenizer, "_encode", counted)
    huge = "e f g " + unit * (2_000_000 // len(unit)) + " a b c"
    (pair,) = ours.encode_pairs([("a b", huge)], 512, cut=side)
    assert sum(read) < 100_000
    assert pair.cut
    text = huge[-20_000:] if side == "left" else huge[:20_000]
    whole = library.encode(text, add_special_tokens=False).ids
    kept = whole[-507:] if side == "left" else whole[:507]
    assert pair.ids == [2, *library.encode("a b", add_special_tokens=False).ids, 3, *kept, 3]


def test_a_query_of_many_pairs_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _ = tokenizers(tmp_path, PROCESSORS["bert"])
    seen: list[str] = []
    encode = TextTokenizer._encode

    def noted(self: TextTokenizer, texts: Any) -> Any:
        seen.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(TextTokenizer, "_encode", noted)
    ours.encode_pairs([("the cat", letter) for letter in "abc"], 20)
    assert sorted(seen) == ["a", "b", "c", "the cat"]


def test_a_tokenizer_that_swaps_the_texts_is_refused(tmp_path: Path) -> None:
    swapped = processors.TemplateProcessing(
        single="[CLS] $A", pair="[CLS] $B $A", special_tokens=[("[CLS]", 2)]
    )
    ours, _ = tokenizers(tmp_path, swapped)
    with pytest.raises(ModelUnavailableError, match="order"):
        ours.encode_pairs([("a", "b")], 20)
