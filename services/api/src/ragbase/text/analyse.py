"""The one analyser: both lexical dialects index its terms and are queried with them.

A text becomes terms in this order: NFKC; segments (`ragbase.text.segments`); case folding;
stemming by script (`ragbase.text.stem`); accents of Latin and Greek letters dropped. Compounds
give themselves and their parts; scripts without spaces give pairs of characters. Stop words are
indexed but not searched, unless a query has nothing else. ``docs/adr/0004-one-analyser.md`` has the
measurements behind each choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

import regex

from ragbase.text.fold import compatibility_form, compatibility_map, fold, strip_accents
from ragbase.text.languages import LANGUAGES, normalise_language, stop_words
from ragbase.text.segments import (
    SEGMENT,
    Part,
    compound_parts,
    grams,
    hump_parts,
    is_plain_run,
    is_unspaced,
    plain_grams,
)
from ragbase.text.stem import ScriptStemmer

__all__ = ["LANGUAGES", "TERM_MAX", "Analyser", "Token", "analyser", "normalise_language"]

TERM_MAX: Final = 64
"""Longest term, in characters: keeps index rows bounded whatever a document holds."""

_HASH_BYTES: Final = 8
_CACHE_MAX: Final = 200_000
_JOINER: Final = regex.compile(r"(?<![0-9])['’·‐_-]|['’·‐_-](?![0-9])")
_ACRONYM: Final = regex.compile(r"\p{L}(?:\.\p{L})+")
_UNSTEMMED: Final = regex.compile(r"[.&]")
_POSSESSIVE: Final = regex.compile(r"['’][sS]$")


class Token(NamedTuple):
    """A term and where it stands: ``text[start:end]`` in code points of the analysed text."""

    term: str
    start: int
    end: int


class _Form(NamedTuple):
    """A term of a segment; ``start`` and ``end`` inside it; ``searched`` is False for forms that
    are only indexed; ``common`` marks stop words."""

    term: str
    start: int
    end: int
    searched: bool
    common: bool


class Analyser:
    """Terms of one language. Deterministic, and safe to share between threads."""

    def __init__(self, language: str) -> None:
        self.language = normalise_language(language)
        self._stemmer = ScriptStemmer(self.language)
        self._stop = frozenset(_joined(fold(word)) for word in stop_words(self.language))
        self._terms_cache: dict[str, tuple[str, ...]] = {}

    def terms(self, text: str) -> list[str]:
        """The terms to index, with repeats: no white space inside, 1 to `TERM_MAX` characters."""
        found: list[str] = []
        known = self._terms_cache
        for segment in SEGMENT.findall(compatibility_form(text)):
            terms = known.get(segment)
            found += self._learn(segment) if terms is None else terms
        return found

    def tokens(self, text: str) -> list[Token]:
        """The same terms as `terms`, in the same order, with their places in ``text``."""
        if text == compatibility_form(text):
            return [Token(*placed) for placed in self._placed(text)]
        form, starts, ends = compatibility_map(text)
        return [
            Token(term, starts[start], ends[end - 1]) for term, start, end in self._placed(form)
        ]

    def query_terms(self, text: str) -> list[str]:
        """The distinct terms to search for, in order of first appearance.

        Stop words are left out unless there is nothing else; a text of operators gives none.
        """
        return list(_query_terms(self, text))

    def _searched_terms(self, text: str) -> tuple[str, ...]:
        forms = [
            form
            for segment in SEGMENT.findall(compatibility_form(text))
            for form in self._forms(segment)
            if form.searched
        ]
        telling = [form for form in forms if not form.common]
        return tuple(dict.fromkeys(form.term for form in telling or forms))

    def _placed(self, form: str) -> Iterator[tuple[str, int, int]]:
        for match in SEGMENT.finditer(form):
            for term, start, end, _, _ in self._forms(match[0]):
                yield term, start + match.start(), end + match.start()

    def _learn(self, segment: str) -> tuple[str, ...]:
        """The segment's terms, remembered if the segment is likely to come again."""
        if is_plain_run(segment):
            return plain_grams(segment)
        terms = tuple(form.term for form in self._forms(segment))
        if len(segment) <= TERM_MAX and not is_unspaced(segment):
            if len(self._terms_cache) >= _CACHE_MAX:
                self._terms_cache.clear()
            self._terms_cache[segment] = terms
        return terms

    def _forms(self, segment: str) -> tuple[_Form, ...]:
        if is_unspaced(segment):
            return tuple(
                _Form(term, start, end, paired, False)
                for gram, start, end, paired in grams(segment)
                if (term := _bounded(fold(gram)))
            )
        segment = _POSSESSIVE.sub("", segment)
        parts = compound_parts(segment) if segment[0] == "." or not segment.isalnum() else ()
        if not parts:
            return tuple(self._word_forms(segment))
        return tuple(self._compound_forms(segment, parts))

    def _word_forms(self, word: str, offset: int = 0) -> Iterator[_Form]:
        """The word, and the parts of CamelCase."""
        yield from self._form(fold(word), offset, offset + len(word))
        for part, start, end in hump_parts(word):
            yield from self._form(fold(part), offset + start, offset + end)

    def _form(self, folded: str, start: int, end: int) -> Iterator[_Form]:
        stemmed = len(folded) <= TERM_MAX and _UNSTEMMED.search(folded) is None
        term = strip_accents(self._stemmer.stem(folded)) if stemmed else folded
        if term:
            yield _Form(_bounded(term), start, end, True, folded in self._stop)

    def _compound_forms(self, segment: str, parts: Sequence[Part]) -> Iterator[_Form]:
        """The compound written as one word, and each word in it.

        A compound that is a stop word (``don't``) makes its parts common too.
        """
        whole = list(self._whole_form(segment)) if len(parts) > 1 else []
        yield from whole
        if whole and _ACRONYM.fullmatch(segment):
            return
        common = any(form.common for form in whole)
        for part, start, _ in parts:
            for form in self._part_forms(part, start):
                yield form._replace(common=form.common or common)

    def _whole_form(self, segment: str) -> Iterator[_Form]:
        if len(segment) <= TERM_MAX:
            yield from self._form(_joined(fold(segment)), 0, len(segment))

    def _part_forms(self, part: str, offset: int) -> Iterator[_Form]:
        """A word of a compound; ``C++``, ``C#`` and ``.NET`` give their literal form first."""
        plain = part.strip(".+#")
        if plain == part:
            if "," in part:  # 1,000 is 1000
                yield from self._form(part.replace(",", ""), offset, offset + len(part))
            else:
                yield from self._word_forms(part, offset)
            return
        yield _Form(_bounded(fold(part)), offset, offset + len(part), True, False)
        if len(plain) > 1:
            yield from self._word_forms(plain, offset + part.index(plain))


def _joined(folded: str) -> str:
    """A compound as one word: ``re-entry`` as ``reentry``, ``u.s.a`` as ``usa``.

    Hyphens between digits and dots elsewhere tell compounds apart and stay.
    """
    if _ACRONYM.fullmatch(folded):
        return folded.replace(".", "")
    joined: str = _JOINER.sub("", folded)
    return joined


def _bounded(term: str) -> str:
    """``term`` cut to `TERM_MAX` characters, the end being a hash of the whole."""
    if len(term) <= TERM_MAX:
        return term
    digest = blake2b(term.encode(), digest_size=_HASH_BYTES).hexdigest()
    return term[: TERM_MAX - len(digest)] + digest


@lru_cache(maxsize=256)
def _query_terms(analyser: Analyser, text: str) -> tuple[str, ...]:
    """A search asks twice: to rank, and to highlight."""
    return analyser._searched_terms(text)


@cache
def analyser(language: str) -> Analyser:
    """The shared analyser of a language; raises `InvalidInputError` for an unknown one."""
    return _shared(normalise_language(language))


@cache
def _shared(language: str) -> Analyser:
    return Analyser(language)
