"""Local models by name on real files: what is no model, who waits, what all may take together."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np
import psutil
import pytest

import ragbase_inference.gguf.models as models_module
from bench.gguf_models import CHAT, EMBEDDING, OTHER_EMBEDDING, RERANKER
from ragbase_inference.errors import ClosedError
from ragbase_inference.gguf.errors import (
    NotLoadedError,
    ReplacedFileError,
    ServedElsewhereError,
    TooMuchMemoryError,
    UnknownModelError,
    UnusableFileError,
    WrongKindOfFileError,
)
from ragbase_inference.gguf.model import LlamaModel
from ragbase_inference.gguf.models import GgufModels
from ragbase_inference.gguf.opening import Plan, plan
from ragbase_inference.gguf.options import GgufOptions, LlamaServer

from .conftest import OPTIONS
from .test_llama import children

pytestmark = pytest.mark.slow

MIB = 1024**2


@pytest.fixture
def root(gguf_root: Path, tmp_path: Path) -> Path:
    """Links to the models, among which a test puts others."""
    for file in gguf_root.glob("*/*.gguf"):
        link = tmp_path / file.relative_to(gguf_root)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(file)
    return tmp_path


@pytest.fixture
def own(root: Path) -> Iterator[GgufModels]:
    models = GgufModels(root, OPTIONS)
    yield models
    models.close()


def states(models: GgufModels) -> list[tuple[str, str, bool]]:
    return [(row.kind, row.name, row.loaded) for row in models.models()]


def test_the_listing_tells_which_are_loaded(own: GgufModels) -> None:
    """L17: a model that embeds is loaded for the listing and for unloading, too."""
    own.embed(OTHER_EMBEDDING, ["a"])
    assert states(own) == [
        ("chat", CHAT, False),
        ("embedding", EMBEDDING, False),
        ("embedding", "all-MiniLM-L6-v2.Q8_0", False),
        ("embedding", OTHER_EMBEDDING, True),
        ("reranker", RERANKER, False),
    ]
    own.load(f"{OTHER_EMBEDDING}.gguf", "embedding")
    own.unload(f"{OTHER_EMBEDDING}.gguf")
    assert not any(loaded for _, _, loaded in states(own))
    with pytest.raises(NotLoadedError):
        own.unload(OTHER_EMBEDDING)


def test_names_that_are_not_listed_are_not_found(own: GgufModels) -> None:
    """L21, L22."""
    for name in ("nothing", f"../embedding/{EMBEDDING}", ""):
        with pytest.raises(UnknownModelError):
            own.embed(name, ["a"])
        assert not own.has(name, "embedding")
    assert own.has(f"{EMBEDDING}.gguf", "embedding")
    assert not own.has(EMBEDDING, "chat")


def damaged(root: Path) -> dict[str, bytes]:
    """Files by name, each made of a good one; all of them but the first two once broke or passed."""
    good = (root / "embedding" / f"{OTHER_EMBEDDING}.gguf").read_bytes()
    layers = good.index(b"bert.block_count") + len("bert.block_count") + 4
    heads = good.index(b"bert.attention.head_count") + len("bert.attention.head_count") + 4
    words = good.index(b"tokenizer.ggml.model") + len("tokenizer.ggml.model") + 12
    return {
        "empty": b"",
        "text": b"no model at all " * 1000,
        "cut": good[: len(good) // 2],
        "aborts": good[:layers] + (10**6).to_bytes(4, "little") + good[layers + 4 :],
        "no-heads": good[:heads] + bytes(4) + good[heads + 4 :],
        "vocabulary": good[:words] + b"llam" + good[words + 4 :],
        "not-finite": good[:1_000_000] + b"\xff" * (len(good) - 1_000_000),
    }


def test_files_that_are_no_models_are_refused_and_nothing_breaks(
    own: GgufModels, root: Path
) -> None:
    """One of them makes llama.cpp abort its process, one loads and answers with NaN."""
    files = damaged(root)
    for name, data in files.items():
        (root / "embedding" / f"{name}.gguf").write_bytes(data)
    before = len(children())
    for name in files:
        with pytest.raises(UnusableFileError, match=name) as caught:
            own.load(name, "embedding")
        assert "/" not in str(caught.value), "no path is told"
    assert own.embed(OTHER_EMBEDDING, ["a"]).shape == (1, 64)
    assert len(children()) == before + 1


@pytest.mark.parametrize(
    ("name", "kind", "source"),
    [
        ("w1", "reranker", f"embedding/{OTHER_EMBEDDING}"),
        ("w2", "embedding", f"reranker/{RERANKER}"),
        ("w3", "chat", f"embedding/{OTHER_EMBEDDING}"),
        ("w4", "embedding", f"chat/{CHAT}"),
        ("w5", "reranker", f"chat/{CHAT}"),
    ],
)
def test_a_model_of_another_kind_is_told(
    own: GgufModels, root: Path, name: str, kind: str, source: str
) -> None:
    """llama.cpp itself would answer in all five cases, with numbers that mean nothing."""
    (root / kind / f"{name}.gguf").symlink_to((root / f"{source}.gguf").resolve())
    with pytest.raises(WrongKindOfFileError, match=name):
        own.load(name, kind)  # type: ignore[arg-type]


def test_a_file_that_comes_later_is_found_and_one_that_goes_is_not(
    own: GgufModels, root: Path
) -> None:
    shutil.copy(root / "embedding" / f"{OTHER_EMBEDDING}.gguf", root / "embedding" / "late.gguf")
    assert own.embed("late", ["a"]).shape == (1, 64)
    (root / "embedding" / "late.gguf").unlink()
    with pytest.raises(UnknownModelError):
        own.embed("late", ["a"])
    own.unload("late")


def put(root: Path, source: str, name: str = "mine") -> None:
    """A copy of another model's file under this name, by one rename."""
    new = root / "embedding" / f".{name}.new"
    shutil.copy(root / "embedding" / f"{source}.gguf", new)
    new.replace(root / "embedding" / f"{name}.gguf")


def test_a_file_put_in_anothers_place_is_loaded_by_the_next_use(
    own: GgufModels, root: Path
) -> None:
    put(root, OTHER_EMBEDDING)
    assert own.embed("mine", ["a"]).shape == (1, 64)
    before = own.info("mine", "embedding")
    put(root, EMBEDDING)
    assert own.embed("mine.gguf", ["a"]).shape == (1, 384)
    after = own.info("mine", "embedding")
    assert (before.dimension, after.dimension) == (64, 384)
    assert before.version != after.version
    assert states(own).count(("embedding", "mine", True)) == 1


def test_who_began_with_a_file_ends_with_it_and_never_mixes(own: GgufModels, root: Path) -> None:
    put(root, OTHER_EMBEDDING)
    old = own.info("mine", "embedding").version
    first = own.embed("mine", ["a"], version=old)
    put(root, EMBEDDING)
    own.load("mine", "embedding")
    assert np.array_equal(own.embed("mine", ["a"], version=old), first), "still in memory"
    assert own.count_tokens("mine", "embedding", ["a b"], version=old) == [4]
    (root / "embedding" / "mine.gguf").unlink()
    assert np.array_equal(own.embed("mine", ["a"], version=old), first)
    put(root, EMBEDDING)
    own.unload("mine")
    assert ("embedding", "mine", False) in states(own), "both are gone"
    with pytest.raises(ReplacedFileError, match="mine"):
        own.embed("mine", ["a"], version=old)
    assert own.embed("mine", ["a"]).shape == (1, 384)


def test_a_model_whose_file_was_replaced_gives_its_memory_back(
    own: GgufModels, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, OTHER_EMBEDDING)
    own.load("mine", "embedding")
    put(root, EMBEDDING)
    before = {child.pid for child in children()}
    own.load("mine", "embedding")
    assert len(children()) == len(before) + 1, "calls may be between two of theirs"
    monkeypatch.setattr("ragbase_inference.gguf.models._REPLACED_IDLE_S", 0.0)
    own.load("mine", "embedding")
    assert len(children()) == len(before)
    assert own.embed("mine", ["a"]).shape == (1, 384)


def test_a_file_replaced_while_it_is_loaded_is_not_taken_for_the_new_one(
    own: GgufModels, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, OTHER_EMBEDDING)
    opened = models_module.open_file
    loads: list[str] = []

    def open_late(planned: Plan, options: GgufOptions, stop: Event) -> LlamaModel:
        loads.append(planned.file.version)
        if len(loads) == 1:
            put(root, EMBEDDING)
        return opened(planned, options, stop)

    monkeypatch.setattr(models_module, "open_file", open_late)
    assert own.embed("mine", ["a"]).shape == (1, 384)
    assert len(set(loads)) == 2


def test_a_broken_file_in_anothers_place_is_told_and_a_sound_one_heals(
    own: GgufModels, root: Path
) -> None:
    put(root, OTHER_EMBEDDING)
    own.load("mine", "embedding")
    (root / "embedding" / "bad.gguf").write_bytes(b"GGUF")
    put(root, "bad")
    with pytest.raises(UnusableFileError, match="mine"):
        own.embed("mine", ["a"])
    put(root, OTHER_EMBEDDING)
    assert own.embed("mine", ["a"]).shape == (1, 64)


def test_eight_clients_see_only_whole_models_while_files_are_replaced(
    own: GgufModels, root: Path
) -> None:
    """Facts and vectors of a caller are of one file, and nobody waits for another's end."""
    put(root, OTHER_EMBEDDING)
    stop = Event()

    def client(_: int) -> set[int]:
        seen = set()
        while not stop.is_set():
            info = own.info("mine", "embedding")
            try:
                rows = own.embed("mine", ["a", "b"], version=info.version)
            except ReplacedFileError:
                continue
            assert rows.shape == (2, info.dimension)
            seen.add(rows.shape[1])
        return seen

    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(client, seed) for seed in range(8)]
        try:
            for turn in range(6):
                put(root, (EMBEDDING, OTHER_EMBEDDING)[turn % 2])
                own.load("mine", "embedding")
        finally:
            stop.set()
        assert set().union(*(each.result() for each in running)) == {64, 384}


def test_memory_is_bounded_and_idle_models_give_way(root: Path) -> None:
    need = {
        file.name: plan(file, OPTIONS).need_bytes
        for file in GgufModels(root, OPTIONS).folder.files()
    }
    bound = need[EMBEDDING] + need[OTHER_EMBEDDING]
    own = GgufModels(root, replace(OPTIONS, memory_bytes=bound))
    try:
        before = {child.pid for child in children()}
        own.embed(EMBEDDING, ["a"])
        own.embed(OTHER_EMBEDDING, ["a"])
        own.rerank(RERANKER, "a", ["b"])
        assert ("embedding", EMBEDDING, False) in states(own), "the one unused for longest"
        assert ("reranker", RERANKER, True) in states(own)
        held = sum(
            psutil.Process(child.pid).memory_info().rss
            for child in children()
            if child.pid not in before
        )
        assert held <= bound
        with pytest.raises(TooMuchMemoryError):
            own.load(CHAT, "chat")
    finally:
        own.close()


def test_what_a_model_is_reckoned_to_take_is_no_less_than_it_takes(root: Path) -> None:
    own = GgufModels(root, OPTIONS)
    try:
        for kind, name in (("embedding", EMBEDDING), ("reranker", RERANKER), ("chat", CHAT)):
            before = {child.pid for child in children()}
            own.load(name, kind)  # type: ignore[arg-type]
            if kind == "embedding":
                own.embed(name, ["word " * 500] * 4)
            if kind == "chat":
                own.chat(name, "word " * 100, max_tokens=2)
            (child,) = [child for child in children() if child.pid not in before]
            need = plan(own.folder.find(name, kind), OPTIONS).need_bytes  # type: ignore[arg-type]
            assert child.memory_info().rss <= need, (name, child.memory_info().rss / MIB)
    finally:
        own.close()


def test_idle_models_are_unloaded_by_themselves(root: Path) -> None:
    own = GgufModels(root, replace(OPTIONS, idle_s=0.2, sweep_s=0.05))
    try:
        own.embed(OTHER_EMBEDDING, ["a"])
        for _ in range(400):
            if not any(loaded for _, _, loaded in states(own)):
                break
            Event().wait(0.05)
        assert not any(loaded for _, _, loaded in states(own))
        assert own.embed(OTHER_EMBEDDING, ["a"]).shape == (1, 64)
    finally:
        own.close()


def test_a_server_by_url_is_used_under_its_name(own: GgufModels, root: Path) -> None:
    """A llama.cpp server that another started: here one of ours, reached through a TCP relay."""
    pytest.importorskip("xllamacpp")
    from .tcp_server import llama_server

    with llama_server(root / "embedding" / f"{OTHER_EMBEDDING}.gguf", key="secret") as url:
        servers = {
            "served": LlamaServer("embedding", url, "secret"),
            "wrong-key": LlamaServer("embedding", url, "other"),
            "away": LlamaServer("chat", "http://127.0.0.1:1"),
        }
        client = GgufModels(root, replace(OPTIONS, servers=servers))
        try:
            assert np.allclose(
                client.embed("served", ["a", "b"]),
                own.embed(OTHER_EMBEDDING, ["a", "b"]),
                atol=1e-5,
            )
            assert client.info("served", "embedding").dimension == 64
            assert client.count_tokens("served.gguf", "embedding", ["a cat"]) == [4]
            listed = {row.name: row.loaded for row in client.models() if row.served}
            assert listed == {"served": True, "wrong-key": False, "away": False}
            with pytest.raises(ServedElsewhereError):
                client.unload("served")
        finally:
            client.close()


def test_eight_clients_with_loads_and_unloads_between_get_the_right_models_answers(
    root: Path,
) -> None:
    """Room for two of the three: they are loaded and unloaded throughout."""
    whole = GgufModels(root, OPTIONS)
    texts = [f"text number {n}" for n in range(6)]
    expected = {name: whole.embed(name, texts) for name in (EMBEDDING, OTHER_EMBEDDING)}
    scores = whole.rerank(RERANKER, "a query", texts)
    need = {file.name: plan(file, OPTIONS).need_bytes for file in whole.folder.files()}
    whole.close()
    bound = need[EMBEDDING] + need[RERANKER]
    own = GgufModels(root, replace(OPTIONS, memory_bytes=bound))

    def client(seed: int) -> int:
        random = np.random.default_rng(seed)
        for _ in range(12):
            at = int(random.integers(len(texts)))
            match int(random.integers(8)):
                case 0:
                    name = [EMBEDDING, OTHER_EMBEDDING, RERANKER][int(random.integers(3))]
                    try:
                        own.unload(name)
                    except NotLoadedError:
                        continue
                case 1:
                    own.load(OTHER_EMBEDDING, "embedding")
                case 2 | 3:
                    (score,) = own.rerank(RERANKER, "a query", [texts[at]])
                    assert score == pytest.approx(scores[at], abs=1e-6)
                case 4 | 5:
                    assert np.array_equal(
                        own.embed(EMBEDDING, [texts[at]])[0], expected[EMBEDDING][at]
                    )
                case _:
                    assert np.array_equal(
                        own.embed(OTHER_EMBEDDING, [texts[at]])[0], expected[OTHER_EMBEDDING][at]
                    )
        return seed

    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(client, range(8))) == list(range(8))
        assert len(own._leases.loaded()) <= 2
    finally:
        own.close()


def test_calls_that_wait_for_a_model_end_when_all_is_closed(root: Path) -> None:
    own = GgufModels(root, OPTIONS)
    own.close()
    with pytest.raises(ClosedError):
        own.embed(OTHER_EMBEDDING, ["a"])


def test_without_llama_cpp_the_error_says_what_to_install(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragbase_inference.gguf.process.is_installed", lambda package: False)
    own = GgufModels(root, GgufOptions())
    try:
        with pytest.raises(Exception, match="extra gguf"):
            own.load(OTHER_EMBEDDING, "embedding")
        assert len(own.models()) == 5, "the listing needs no llama.cpp"
    finally:
        own.close()
