"""GLiNER: finds spans of a text that bear one of the labels asked for.

Source: Zaratiana et al., GLiNER: Generalist Model for Named Entity Recognition using Bidirectional
Transformer, NAACL 2024, and its authors' library, which runs the model here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ragbase_inference.backends.gliner_labels import LabelGroup, label_groups
from ragbase_inference.backends.gliner_load import load_gliner, token_limit
from ragbase_inference.backends.gliner_pieces import Piece, Word, best_spans, pieces, shifted
from ragbase_inference.backends.options import OpenOptions
from ragbase_inference.backends.torch_model import TorchModel, load, text_tokenizer
from ragbase_inference.backends.torch_placement import place
from ragbase_inference.errors import ClosedError, TextTooLongError
from ragbase_inference.kinds import ModelFacts, NerText, Span
from ragbase_inference.resolve import ResolvedModel
from ragbase_inference.tokens import TextTokenizer

__all__ = ["GlinerSpans", "open_gliner"]

_OVERLAP_WORDS = 24
"""At least twice the longest span that models are trained for (12 words): it has context, too."""
_LEAST_THRESHOLD = 0.01
"""Below it nearly every stretch of a text is a candidate, and a text would take minutes."""


@dataclass(frozen=True, slots=True)
class _Task:
    """One piece of a text to look through for one group of its labels."""

    row: int
    text: str
    offset: int
    tokens: int
    labels: tuple[str, ...]
    threshold: float


class GlinerSpans(TorchModel):
    """A `SpanModel`."""

    def __init__(
        self, module: Any, *, device: torch.device, facts: ModelFacts, tokenizer: TextTokenizer
    ) -> None:
        super().__init__(module, device=device, facts=facts, tokenizer=tokenizer)
        self._max_words = int(module.config.max_len)
        self._max_labels = int(module.config.max_types)
        self._split = module.data_processor.words_splitter

    def spans(self, batch: Sequence[NerText]) -> list[list[Span]]:
        """Spans of each text; see `SpanModel`. A threshold below 0.01 counts as that.

        Raises `TextTooLongError` where a label alone fills what the model reads, else as `run_on`.
        """
        if self._module is None:
            raise ClosedError(f"{self.facts.model} is closed")
        tasks = [task for row, one in enumerate(batch) for task in self._tasks(row, one)]
        found: list[list[Span]] = [[] for _ in batch]
        for group in _groups(tasks, self.facts.batch_tokens):
            for task, spans in zip(group, self._look(group), strict=True):
                found[task.row] += shifted(spans, task.offset)
        return [best_spans(spans, _threshold(one)) for spans, one in zip(found, batch, strict=True)]

    def _tasks(self, row: int, asked: NerText) -> Iterator[_Task]:
        words = self._words(asked.text)
        for group in self._label_groups(row, asked.labels):
            for piece in self._pieces(words, group):
                yield _Task(
                    row=row,
                    text=asked.text[piece.start : piece.end],
                    offset=piece.start,
                    tokens=group.tokens + piece.tokens,
                    labels=group.labels,
                    threshold=_threshold(asked),
                )

    def _words(self, text: str) -> list[Word]:
        """Words as the model splits a text, with their tokens as near as they are told alone."""
        split = list(self._split(text))
        counts = self.tokenizer.count([word for word, _, _ in split])
        return [
            Word(start, end, max(1, count))
            for (_, start, end), count in zip(split, counts, strict=True)
        ]

    def _label_groups(self, row: int, labels: Sequence[str]) -> list[LabelGroup]:
        names = list(dict.fromkeys(labels))
        room = self.facts.max_tokens // 2
        groups = label_groups(
            names, self.tokenizer.count(names), max_labels=self._max_labels, max_tokens=room
        )
        longest = max((group.tokens for group in groups), default=0)
        if longest > room:
            raise TextTooLongError(row, longest, room)
        return groups

    def _pieces(self, words: Sequence[Word], group: LabelGroup) -> Iterator[Piece]:
        room = self.facts.max_tokens - group.tokens
        overlap = min(_OVERLAP_WORDS, self._max_words // 4)
        return pieces(words, max_words=self._max_words, max_tokens=room, overlap=overlap)

    def _look(self, group: Sequence[_Task]) -> list[list[Span]]:
        """Spans of each piece, in its own code points."""
        answers = self._run(
            lambda module: module.inference(
                [task.text for task in group],
                list(group[0].labels),
                flat_ner=True,
                threshold=min(task.threshold for task in group),
                multi_label=False,
                batch_size=len(group),
            )
        )
        return [[_span(found) for found in spans] for spans in answers]


def _threshold(asked: NerText) -> float:
    return max(asked.threshold, _LEAST_THRESHOLD)


def _span(found: dict[str, Any]) -> Span:
    return Span(int(found["start"]), int(found["end"]), found["label"], float(found["score"]))


def _groups(tasks: Sequence[_Task], max_tokens: int) -> Iterator[list[_Task]]:
    """Pieces with the same labels and of like length, padded at most ``max_tokens`` a group."""
    group: list[_Task] = []
    for task in sorted(tasks, key=lambda one: (one.labels, one.tokens)):
        fits = (len(group) + 1) * task.tokens <= max_tokens
        if group and (group[0].labels != task.labels or not fits):
            yield group
            group = []
        group.append(task)
    if group:
        yield group


def open_gliner(found: ResolvedModel, options: OpenOptions) -> GlinerSpans:
    """Load the model in ``found.folder``; raises `ModelUnavailableError`.

    In fp32 unless asked otherwise, on GPUs too: the models are small, and their thresholds are
    meant for its scores.
    """
    placed = place(found, options, {}, default=torch.float32)
    module = load(found.name, lambda: load_gliner(found, placed.dtype))
    its_tokenizer = module.data_processor.transformer_tokenizer
    return GlinerSpans(
        module,
        device=placed.device,
        facts=placed.facts(found, "ner", backend="gliner", max_tokens=token_limit(module)),
        tokenizer=text_tokenizer(found.folder, its_tokenizer),
    )
