"""GLiNER behind our protocol against its authors' library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from gliner import GLiNER
from safetensors.torch import load_file, save_file

from ragbase_inference.errors import ClosedError, ModelUnavailableError, TextTooLongError
from ragbase_inference.kinds import NerText, Span

from .conftest import Open
from .models import make_gliner
from .texts import LONG, texts

LABELS = ("person", "city", "a living thing")
ADA = "Ada Lovelace — née Byron — lived in London with a dog."
LEVELS = pytest.mark.parametrize("token_level", [False, True], ids=["spans", "tokens"])


@cache
def library(folder: Path) -> Any:
    return GLiNER.from_pretrained(str(folder), local_files_only=True).eval()


def alone(folder: Path, text: str, labels: tuple[str, ...], threshold: float) -> list[Span]:
    """What the library finds in a lone text."""
    found = library(folder).predict_entities(text, list(labels), threshold=threshold)
    return [Span(one["start"], one["end"], one["label"], one["score"]) for one in found]


def same(found: list[Span], expected: list[Span]) -> bool:
    return len(found) == len(expected) and all(
        (one.start, one.end, one.label) == (other.start, other.end, other.label)
        and abs(one.score - other.score) < 1e-4
        for one, other in zip(found, expected, strict=True)
    )


@LEVELS
def test_spans_are_those_of_the_library(
    token_level: bool, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_gliner, token_level=token_level)
    model = opened(folder, backend="auto")
    assert (model.facts.kind, model.facts.backend) == ("ner", "gliner")
    given = [ADA, *(" ".join(text.split()[:30]) for text in texts(8, seed=1))]
    found = model.spans([NerText(text, LABELS, 0.3) for text in given])
    assert all(found)
    for text, spans in zip(given, found, strict=True):
        assert same(spans, alone(folder, text, LABELS, 0.3))


@LEVELS
def test_texts_of_a_batch_keep_their_own_labels_and_thresholds(
    token_level: bool, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_gliner, token_level=token_level)
    model = opened(folder, backend="auto")
    asked = [
        NerText(ADA, LABELS, 0.3),
        NerText(ADA, LABELS[:1], 0.45),
        NerText("", LABELS, 0.3),
        NerText(ADA, LABELS, 0.6),
        NerText("a dog", LABELS[:1], 0.3),
        NerText(" \n ", LABELS, 0.3),
        NerText(ADA, (), 0.3),
    ]
    found = model.spans(asked)
    for one, spans in zip(asked, found, strict=True):
        empty = not one.labels or not one.text.strip()
        assert same(spans, [] if empty else alone(folder, one.text, one.labels, one.threshold))


@LEVELS
def test_a_long_text_is_read_to_its_end_and_offsets_are_its_own(
    token_level: bool, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_gliner, token_level=token_level)
    model = opened(folder, backend="auto")
    text = "😀 " + LONG
    (found,) = model.spans([NerText(text, LABELS, 0.3)])
    assert found[-1].end > 0.9 * len(text)
    assert all(text[one.start : one.end].strip() for one in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    # The first piece has 40 words; what ends before its overlap with the next is its own.
    first = [end for _, _, end in library(folder).data_processor.words_splitter(text)]
    (spans,) = model.spans([NerText(text[: first[39]], LABELS, 0.3)])
    edge = first[15]
    kept = [one for one in found if one.end < edge]
    assert kept
    assert same(kept, [one for one in spans if one.end < edge])


def test_more_labels_than_the_model_reads_at_once_are_all_asked_for(
    models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_gliner)
    model = opened(folder, backend="auto")
    names = tuple(f"kind {number}" for number in range(9))
    (found,) = model.spans([NerText(ADA, names, 0.3)])
    parts = [alone(folder, ADA, group, 0.3) for group in (names[:4], names[4:8], names[8:])]
    best = max((one for part in parts for one in part), key=lambda one: one.score)
    assert any(same([one], [best]) for one in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_a_label_without_end_is_the_callers_error(
    models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_gliner), backend="auto")
    with pytest.raises(TextTooLongError):
        model.spans([NerText(ADA, ("word " * 600,), 0.5)])


def test_a_word_without_end_is_read_by_its_beginning(
    models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_gliner), backend="auto")
    text = "x" * 500_000 + " lives in London"
    (found,) = model.spans([NerText(text, LABELS, 0.3)])
    assert all(one.end <= len(text) for one in found)


def test_missing_weights_are_refused(tmp_path: Path, opened: Open) -> None:
    """The library would make them up and go on."""
    folder = make_gliner(tmp_path / "partial")
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "prompt_rep" not in name}
    save_file(kept, folder / "model.safetensors")
    with pytest.raises(ModelUnavailableError, match="prompt_rep"):
        opened(folder, backend="auto")


def test_models_that_do_something_else_are_refused(tmp_path: Path, opened: Open) -> None:
    folder = make_gliner(tmp_path / "relations")
    settings = (folder / "gliner_config.json").read_text()
    (folder / "gliner_config.json").write_text(
        settings.replace("{", '{"relations_layer": "biaffine", ', 1)
    )
    with pytest.raises(ModelUnavailableError, match="relations"):
        opened(folder, backend="auto")


def test_a_closed_model_says_so(models: Callable[..., Path], opened: Open) -> None:
    model = opened(models(make_gliner), backend="auto")
    model.close()
    with pytest.raises(ClosedError):
        model.spans([NerText(ADA, LABELS, 0.5)])
