"""How a model's tokenizer joins two texts, and how a pair that is too long is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tokenizers

from ragbase_inference.errors import ModelUnavailableError

__all__ = ["PairTemplate", "longest_first", "pair_template"]


@dataclass(frozen=True, slots=True)
class PairTemplate:
    """Special tokens before, between and after two texts, and the segment of every part.

    Parts in order: before, first text, between, second text, after. BERT numbers its segments
    0 0 0 1 1, RoBERTa and its kin have none (all 0).
    """

    before: list[int]
    between: list[int]
    after: list[int]
    segments: tuple[list[int], int, list[int], int, list[int]]

    @property
    def special_tokens(self) -> int:
        """How many special tokens a pair has."""
        return len(self.before) + len(self.between) + len(self.after)

    def join(self, first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
        """Ids and segment ids of the pair."""
        before, one, between, two, after = self.segments
        return (
            [*self.before, *first, *self.between, *second, *self.after],
            [*before, *[one] * len(first), *between, *[two] * len(second), *after],
        )


def pair_template(tokenizer: tokenizers.Tokenizer) -> PairTemplate:
    """Read from what the tokenizer's own post-processor makes of a pair.

    Raises `ModelUnavailableError` where it does not keep the texts in order.
    """
    probe = tokenizer.encode("a", "a")
    owners = probe.sequence_ids
    firsts = [at for at, owner in enumerate(owners) if owner == 0]
    seconds = [at for at, owner in enumerate(owners) if owner == 1]
    if not firsts or not seconds or firsts[-1] > seconds[0]:
        raise ModelUnavailableError("the tokenizer does not join two texts in order")
    head, middle, tail = (
        slice(0, firsts[0]),
        slice(firsts[-1] + 1, seconds[0]),
        slice(seconds[-1] + 1, len(owners)),
    )
    ids, types = probe.ids, probe.type_ids
    return PairTemplate(
        before=ids[head],
        between=ids[middle],
        after=ids[tail],
        segments=(types[head], types[firsts[0]], types[middle], types[seconds[0]], types[tail]),
    )


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """Tokens to keep of two texts of ``first`` and ``second`` tokens, ``room`` in all.

    The longer one gives up tokens until both are of one length, then each in turn; of an odd
    number the longer one keeps one more. As Hugging Face's tokenizers do it (``longest_first``).
    """
    if first + second <= room:
        return first, second
    shorter, longer = min(first, second), max(first, second)
    if 2 * shorter <= room:
        longer = room - shorter
    else:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if first > second else (shorter, longer)
