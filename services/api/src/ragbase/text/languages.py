"""The languages a collection may be declared in, and the names each is known by."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from ragbase.errors import InvalidInputError

__all__ = [
    "LANGUAGES",
    "SCRIPTS",
    "UNSTEMMED",
    "language_code",
    "latin_only",
    "normalise_language",
    "stop_words",
]

_STEMMED: Final = {
    "arabic": "ar",
    "armenian": "hy",
    "basque": "eu",
    "catalan": "ca",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "esperanto": "eo",
    "estonian": "et",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "irish": "ga",
    "italian": "it",
    "lithuanian": "lt",
    "nepali": "ne",
    "norwegian": "no",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "serbian": "sr",
    "sesotho": "st",
    "spanish": "es",
    "swedish": "sv",
    "tamil": "ta",
    "turkish": "tr",
    "yiddish": "yi",
}
"""Snowball's languages (its name for the algorithm) and their ISO 639-1 codes."""

UNSTEMMED: Final = {
    "simple": "",
    "chinese": "zh",
    "japanese": "ja",
    "korean": "ko",
    "thai": "th",
}
"""Languages without a stemmer: their words are folded, never stemmed, and have no stop words."""

LANGUAGES: Final[tuple[str, ...]] = (*sorted(_STEMMED), *UNSTEMMED)
"""Every name `normalise_language` returns."""

SCRIPTS: Final = {
    "arabic": ("Arabic",),
    "armenian": ("Armenian",),
    "greek": ("Greek",),
    "hindi": ("Devanagari",),
    "nepali": ("Devanagari",),
    "persian": ("Arabic",),
    "russian": ("Cyrillic",),
    "serbian": ("Cyrillic", "Latin"),
    "tamil": ("Tamil",),
    "yiddish": ("Hebrew",),
}
"""The scripts a language is written in, where that is not Latin alone."""

_ALIASES: Final = {
    **{code: name for name, code in {**_STEMMED, **UNSTEMMED}.items() if code},
    "nb": "norwegian",
    "nn": "norwegian",
    "none": "simple",
}


def normalise_language(language: str) -> str:
    """The canonical name of ``language``: a name of `LANGUAGES` or an ISO 639-1 code, in any case.

    A region is ignored (``en-GB``, ``zh_Hans``). Raises `InvalidInputError` (field ``language``).
    """
    name = language.strip().lower()
    if name in LANGUAGES:
        return name
    known = _ALIASES.get(name.replace("_", "-").partition("-")[0])
    if known is None:
        raise InvalidInputError(
            f"unknown language {language[:40]!r}; one of: {', '.join(LANGUAGES)}, or an ISO 639-1 code",
            code="unknown_language",
            field="language",
        )
    return known


def language_code(language: str) -> str:
    """ISO 639-1 code of a name of `LANGUAGES`; "" for ``simple``."""
    return {**_STEMMED, **UNSTEMMED}[language]


def latin_only(code: str) -> bool:
    """Whether the language of this ISO 639-1 code is known, and written in Latin script alone."""
    return any(code == own and name not in SCRIPTS for name, own in _STEMMED.items())


@cache
def stop_words(language: str) -> frozenset[str]:
    """Words too common to search for, as the files in ``stopwords/`` list them; may be empty."""
    source = files("ragbase.text") / "stopwords" / f"{language}.txt"
    if not source.is_file():
        return frozenset()
    return frozenset(source.read_text(encoding="utf-8").split())
