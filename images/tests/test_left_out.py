"""The API's image leaves out what its packages ask for and never import: here it runs without that."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from images.catalogue import ROOT

from .test_locks import LOCKS, versions

WITHOUT = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Without())
"""
LLAMA = """
import xllamacpp
assert xllamacpp.CommonParams().n_predict == -1
"""
WORK = {
    "all modules of the API": """
import importlib, pkgutil, ragbase
for module in pkgutil.walk_packages(ragbase.__path__, "ragbase."):
    if "embedded" not in module.name and "migrations" not in module.name:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
""",
    "measures of an evaluation": """
from ir_measures import Qrel, R, ScoredDoc, calc_aggregate, nDCG
run = [ScoredDoc("q", "a", 2.0), ScoredDoc("q", "b", 1.0)]
found = calc_aggregate([nDCG @ 10, R @ 10], [Qrel("q", "b", 1)], run)
assert 0.6 < found[nDCG @ 10] < 0.7, found
""",
    "names by spaCy": """
from ragbase.clients.ner_spacy import _load, _spans, find_model
place = find_model("en_core_web_sm").place
found = _spans(_load(place)("Ada Lovelace wrote to Charles Babbage in London."))
assert {kind for _, _, kind in found} == {"person", "location"}, found
""",
    "entities by LightRAG": """
import asyncio, json
from ragbase.ingest.lightrag import extract_chunk
from ragbase.models.extraction import SourceChunk
entity = {"name": "Ada Lovelace", "type": "Person", "description": "She wrote notes."}
async def ask(system, prompt, history):
    return json.dumps({"entities": [entity], "relationships": []})
facts = asyncio.run(extract_chunk(SourceChunk(1, "Ada Lovelace wrote notes."), ask))
assert [each.name for each in facts.entities] == ["Ada Lovelace"], facts
""",
}


def closure(name: str, extras: tuple[str, ...]) -> set[str]:
    """Installed distributions that a package asks for, with all that these ask for."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    todo = [(name, extras)]
    while todo:
        each = todo.pop()
        if each not in seen:
            seen.add(each)
            todo += _needs(*each)
    return {name for name, _ in seen}


def _needs(name: str, extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return  # of another platform
    for need in map(Requirement, lines):
        asked = [{"extra": extra} for extra in extras or ("",)]
        if need.marker is None or any(map(need.marker.evaluate, asked)):
            yield canonicalize_name(need.name), tuple(sorted(need.extras))


@pytest.fixture(scope="module")
def absent() -> set[str]:
    """Names of modules that the image has not."""
    extras = LOCKS["api"]
    asked = closure("ragbase", extras["services/api"])
    asked |= closure("ragbase-inference", extras["services/inference"])
    left_out = asked - versions("api").keys() - {"ragbase", "ragbase-inference"}
    return {
        module
        for module, owners in packages_distributions().items()
        if {canonicalize_name(owner) for owner in owners} <= left_out
    }


def test_much_is_left_out(absent: set[str]) -> None:
    assert {"scipy", "pandas", "aiohttp", "tiktoken"} <= absent
    assert not {"numpy", "spacy", "lightrag", "ragbase", "google"} & absent


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_nothing_of_it_is_imported(absent: set[str], work: str) -> None:
    program = WITHOUT.format(absent=sorted(absent)) + work
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_is_named_where_locks_are_made() -> None:
    """What a new version asks for comes into the image, until somebody has looked at it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.search(r"^API_WITHOUT := \$\(addprefix --no-emit-package ,([^)]*)\)", makefile, re.M)
    assert named
    assert not set(named[1].replace("\\", " ").split()) & versions("api").keys()
