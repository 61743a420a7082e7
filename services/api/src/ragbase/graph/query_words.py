"""The words of a query as entity names are written, and which runs of them may be names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ragbase.text.entity_names import normalise
from ragbase.text.segments import is_unspaced

__all__ = ["GRAM_MAX", "WORDS_MAX", "Gram", "Word", "grams", "query_words", "runs_of_names"]

WORDS_MAX: Final = 256
"""Words of a query that are looked at: a longer text is a document, and names stand early in it."""
GRAM_MAX: Final = 8
"""Words of the longest name that is looked up."""
_LONE_MIN: Final = 4
"""Letters of a single word that is looked up by itself: shorter ones are words of the language, or
abbreviations that half of a collection holds."""


class Word(NamedTuple):
    """``text`` is normalised; ``common``: a stop word; ``capital``: written with a capital letter;
    ``small``: its script has capitals and it has none; ``glued``: of a script without spaces, a
    single character that belongs to the one before."""

    text: str
    common: bool
    capital: bool
    small: bool
    glued: bool = False


class Gram(NamedTuple):
    """Words ``start`` to ``end`` (exclusive) and the name that they would be."""

    start: int
    end: int
    text: str


def query_words(query: str, stop_words: Collection[str]) -> list[Word]:
    """The first `WORDS_MAX` words of a query, in order."""
    found: list[Word] = []
    for token in query.split():
        for text in normalise(token).split():
            found += _words(text, token, stop_words)
        if len(found) >= WORDS_MAX:
            break
    return found[:WORDS_MAX]


def _words(text: str, token: str, stop_words: Collection[str]) -> Iterator[Word]:
    if is_unspaced(text):
        for at, character in enumerate(text):
            yield Word(character, False, False, False, glued=at > 0)
        return
    capital = token != token.lower()
    yield Word(text, text in stop_words, capital, not capital and text != text.upper())


def grams(words: Sequence[Word]) -> list[Gram]:
    """Runs that may be a name, longest first, then leftmost.

    None begins or ends with a stop word unless it has a capital letter. A single word
    needs four letters and, in a query that uses capitals, one of them; of a script without spaces
    it takes two characters.
    """
    cased = uses_capitals(words)
    found = []
    for size in range(min(GRAM_MAX, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            run = words[start : start + size]
            if _may_be_name(run, cased=cased):
                found.append(Gram(start, start + size, joined(run)))
    return found


def uses_capitals(words: Sequence[Word]) -> bool:
    """Whether capitals tell anything: some word but the first has one, and some word has none."""
    return any(word.capital for word in words[1:]) and any(word.small for word in words)


def _may_be_name(run: Sequence[Word], *, cased: bool) -> bool:
    first, last = run[0], run[-1]
    if (first.common and not first.capital) or (last.common and not last.capital):
        return False
    if len(run) > 1:
        return not all(word.common for word in run)
    if first.common or first.glued or is_unspaced(first.text):
        return False
    return len(first.text) >= _LONE_MIN and not (cased and first.small)


def runs_of_names(words: Sequence[Word], taken: Sequence[bool]) -> list[Gram]:
    """What is written like a name among the words that are not ``taken``: words with a capital,
    and stop words between two of them; then the parts of such a run between its stop words.

    Empty where capitals tell nothing.
    """
    found: list[Gram] = []
    if not uses_capitals(words):
        return found
    at = 0
    while at < len(words):
        if taken[at] or not _opens_name(words, at):
            at += 1
            continue
        end = _end_of_name(words, taken, at)
        found.append(Gram(at, end, joined(words[at:end])))
        found += _parts(words, at, end)
        at = end
    return found


def _opens_name(words: Sequence[Word], at: int) -> bool:
    """A stop word at the start has its capital from the sentence, or belongs to the article."""
    return words[at].capital and not words[at].common


def _end_of_name(words: Sequence[Word], taken: Sequence[bool], start: int) -> int:
    end = start + 1
    for at in range(start + 1, min(start + GRAM_MAX, len(words))):
        if taken[at] or not (words[at].capital or words[at].common):
            break
        if words[at].capital:
            end = at + 1
    return end


def _parts(words: Sequence[Word], start: int, end: int) -> list[Gram]:
    """The pieces of a run between stop words without a capital; none where it is one piece."""
    cuts = [at for at in range(start, end) if words[at].common and not words[at].capital]
    bounds = pairwise([start - 1, *cuts, end])
    pieces = [Gram(a + 1, b, joined(words[a + 1 : b])) for a, b in bounds if b > a + 1]
    return pieces if cuts else []


def joined(run: Sequence[Word]) -> str:
    """The run as a name: characters of a script without spaces stay together."""
    text = "".join(f"{'' if word.glued else ' '}{word.text}" for word in run)
    return re.sub(r"^(?:the|an?) ", "", text.strip())
