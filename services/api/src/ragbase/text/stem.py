"""Stemming by script: a word is reduced by the stemmer of the language its letters belong to."""

from __future__ import annotations

from threading import Lock
from typing import Final

import regex
import Stemmer

from ragbase.text.languages import SCRIPTS, UNSTEMMED

__all__ = ["ScriptStemmer"]

_BY_SCRIPT: Final = {
    "Arabic": "arabic",
    "Armenian": "armenian",
    "Cyrillic": "russian",
    "Devanagari": "hindi",
    "Greek": "greek",
    "Hebrew": "",
    "Latin": "english",
    "Tamil": "tamil",
}
_SCRIPT_OF: Final = regex.compile(
    "|".join(rf"(?P<{script}>\p{{{script}}})" for script in _BY_SCRIPT)
)


class ScriptStemmer:
    """Snowball stemmers of one collection language; safe to share between threads.

    Words in a script that the language does not use are stemmed by the script's commonest
    language: it helps mixed collections (measured in ``docs/adr/0004-one-analyser.md``) and
    cannot hurt the collection's own. Languages without a stemmer stem nothing.
    """

    def __init__(self, language: str) -> None:
        names = {} if language in UNSTEMMED else dict(_BY_SCRIPT)
        for script in SCRIPTS.get(language, ("Latin",)) if names else ():
            names[script] = language
        # Without the library's cache: the analyser keeps its own.
        self._stemmers = {
            script: Stemmer.Stemmer(name, 0) for script, name in names.items() if name
        }
        self._lock = Lock()

    def stem(self, word: str) -> str:
        """The stem of a folded word, never empty; the word itself where no stemmer applies."""
        script = "Latin" if word.isascii() else self._script(word)
        stemmer = self._stemmers.get(script)
        if stemmer is None:
            return word
        with self._lock:  # a stemmer keeps its working word in itself
            stem: str = stemmer.stemWord(word)
        return stem or word

    @staticmethod
    def _script(word: str) -> str:
        match = _SCRIPT_OF.search(word)
        return match.lastgroup or "" if match else ""
