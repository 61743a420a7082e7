"""llama.cpp at work on real files: its own numbers, ONNX Runtime's vectors, memory given back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import psutil
import pytest

from bench.gguf_models import CHAT, EMBEDDING, OTHER_EMBEDDING, QUANTIZED, RERANKER
from ragbase_inference.embedder import TextEmbedder, open_embedder
from ragbase_inference.errors import TextTooLongError
from ragbase_inference.gguf.facts import GgufKind
from ragbase_inference.gguf.models import GgufModels

pytestmark = pytest.mark.slow

TEXTS = [
    "The harbour of Genoa was rebuilt in 1551.",
    "A cat sleeps on the mat.",
    "Les chats dorment sur le tapis.",
    "Interest rates rose by half a percentage point on Thursday.",
    "def main() -> int: return 0",
    "Tschüss, 東京! naïve café ﬁancé",
    "x",
    "the harbour of the old town lies at the sea " * 20,
]
QUERY = "Where was a harbour rebuilt?"

OWN = """
import json, sys
import xllamacpp

asked = json.loads(sys.stdin.read())
params = xllamacpp.CommonParams()
params.model.path = asked["path"]
params.n_ctx = params.n_batch = params.n_ubatch = 512
params.embedding = True
params.warmup = False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
if asked["kind"] == "reranker":
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
server = xllamacpp.Server(params)
if asked["kind"] == "reranker":
    found = server.handle_rerank({"query": asked["query"], "documents": asked["texts"]})
else:
    found = server.handle_embeddings({"input": asked["texts"]})
print(json.dumps(found), flush=True)
import os
os._exit(0)
"""


def llama_itself(root: Path, kind: str, name: str, texts: list[str]) -> list[dict[str, object]]:
    """What the library answers when it is called directly, without a line of ours."""
    asked = {
        "path": str(root / kind / f"{name}.gguf"), "kind": kind, "query": QUERY, "texts": texts,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", OWN], input=json.dumps(asked), capture_output=True, text=True,
        check=True, timeout=120,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    rows = found["results"] if kind == "reranker" else found["data"]
    return sorted(rows, key=lambda row: int(row["index"]))


@pytest.fixture(scope="module")
def exact() -> TextEmbedder:
    """MiniLM without the eight bits that it is run in by default."""
    return open_embedder("sentence-transformers/all-MiniLM-L6-v2", threads=1, precision="fp32")


def test_vectors_equal_llama_cpps_own(models: GgufModels, gguf_root: Path) -> None:
    rows = llama_itself(gguf_root, "embedding", EMBEDDING, TEXTS)
    own = np.array([row["embedding"] for row in rows], np.float32)
    ours = models.embed(EMBEDDING, TEXTS)
    assert ours.shape == (len(TEXTS), 384)
    assert np.abs(ours - own).max() < 1e-5


@pytest.mark.parametrize(("name", "least"), [(EMBEDDING, 0.9999), (QUANTIZED, 0.99)])
def test_vectors_agree_with_onnx_runtimes(
    models: GgufModels, exact: TextEmbedder, name: str, least: float
) -> None:
    """ONNX Runtime in float32; the GGUF file too, and the same weights in eight bits."""
    onnx = exact.run_passages(exact.encode_texts(TEXTS))
    cosines = (models.embed(name, TEXTS) * onnx).sum(axis=1)
    assert cosines.min() >= least, cosines


def test_scores_equal_llama_cpps_own_and_stand_on_their_own_texts(
    models: GgufModels, gguf_root: Path
) -> None:
    """L1. The weights are random: the order is no better than chance, but always the same."""
    logits = np.array(
        [row["relevance_score"] for row in llama_itself(gguf_root, "reranker", RERANKER, TEXTS)],
        np.float64,
    )
    expected = 1 / (1 + np.exp(-logits))
    ours = np.array(models.rerank(RERANKER, QUERY, TEXTS))
    assert np.abs(ours - expected).max() < 1e-4
    assert np.ptp(ours) > 0.01, "the texts are told apart"
    swapped = models.rerank(RERANKER, QUERY, TEXTS[::-1])
    assert np.abs(np.array(swapped[::-1]) - ours).max() < 1e-4


def test_vectors_do_not_depend_on_who_shares_the_batch(models: GgufModels) -> None:
    alone = np.concatenate([models.embed(EMBEDDING, [text]) for text in TEXTS])
    assert np.array_equal(models.embed(EMBEDDING, TEXTS), alone)


def test_no_texts_are_no_vectors_and_an_empty_text_is_one(models: GgufModels) -> None:
    assert models.embed(EMBEDDING, []).shape == (0, 384)
    assert models.rerank(RERANKER, QUERY, []) == []
    assert models.embed(EMBEDDING, [""]).shape == (1, 384)


def test_tokens_are_counted_as_onnx_runtimes_tokenizer_does(
    models: GgufModels, minilm: TextEmbedder
) -> None:
    expected = [count + 2 for count in minilm.tokenizer.count(TEXTS)]
    assert models.count_tokens(EMBEDDING, "embedding", TEXTS) == expected
    assert models.info(EMBEDDING, "embedding").max_tokens == 512
    assert models.info(EMBEDDING, "embedding").dimension == 384
    assert models.info(f"{RERANKER}.gguf", "reranker").dimension is None


@pytest.mark.parametrize(
    ("name", "kind"), [(EMBEDDING, "embedding"), (RERANKER, "reranker"), (CHAT, "chat")]
)
def test_many_texts_have_the_counts_of_each_alone(
    models: GgufModels, name: str, kind: GgufKind
) -> None:
    """Specials too, blanks at the ends, and no token that reaches over two texts."""
    texts = [*TEXTS, "", " ", "\n\n", " led", "[SEP] <bos> </s>", "東京" * 40, "un", "able", "-1"]
    alone = [models.count_tokens(name, kind, [text])[0] for text in texts]
    assert models.count_tokens(name, kind, texts) == alone


def test_counting_ten_thousand_words_takes_few_requests(models: GgufModels) -> None:
    """A text of as many Han characters between blanks; a request each took half a minute."""
    words = [f"w{number}" for number in range(10_000)]
    begun = monotonic()
    counts = models.count_tokens(EMBEDDING, "embedding", words)
    assert monotonic() - begun < 10
    assert counts[::5000] == [
        models.count_tokens(EMBEDDING, "embedding", [w])[0] for w in words[::5000]
    ]


def test_a_text_too_long_is_refused_or_cut_at_the_limit(models: GgufModels) -> None:
    """L25."""
    words = [f"word{n}" for n in range(900)]
    text = " ".join(words)
    with pytest.raises(TextTooLongError) as caught:
        models.embed(EMBEDDING, ["short", text])
    assert caught.value.index == 1
    assert caught.value.limit == 512 < caught.value.tokens
    cut = models.embed(EMBEDDING, [text], cut=True)
    longest = next(
        count
        for count in range(len(words), 0, -1)
        if models.count_tokens(EMBEDDING, "embedding", [" ".join(words[:count])])[0] <= 512
    )
    whole_words = models.embed(EMBEDDING, [" ".join(words[:longest])])
    assert (cut * whole_words).sum() > 0.999


def test_pairs_too_long_are_cut(models: GgufModels) -> None:
    long = "harbour " * 1000
    for query, text in ((QUERY, long), (long, QUERY), (long, long)):
        (score,) = models.rerank(RERANKER, query, [text])
        assert 0 <= score <= 1


def test_a_chat_model_answers_and_keeps_to_its_tokens(models: GgufModels) -> None:
    answer = models.chat(CHAT, "The capital of France is", max_tokens=8)
    assert answer == answer.strip()
    assert models.count_tokens(CHAT, "chat", [answer])[0] <= 8 + 2
    assert models.chat(CHAT, "The capital of France is", max_tokens=8) == answer, "temperature 0"


def test_a_prompt_beyond_the_context_is_told_apart(models: GgufModels) -> None:
    with pytest.raises(TextTooLongError) as caught:
        models.chat(CHAT, "word " * 3000)
    assert caught.value.tokens > caught.value.limit == 1024


def test_two_models_of_a_kind_answer_each_for_itself(models: GgufModels) -> None:
    assert models.embed(OTHER_EMBEDDING, ["a"]).shape == (1, 64)
    assert models.embed(EMBEDDING, ["a"]).shape == (1, 384)


def children() -> list[psutil.Process]:
    """Processes of models that this one runs."""
    return [
        child
        for child in psutil.Process().children()
        if "ragbase_inference.gguf.child" in child.cmdline()
    ]


def test_memory_is_given_back_and_no_process_stays(gguf_root: Path) -> None:
    before = {child.pid for child in children()}
    own = GgufModels(gguf_root)
    own.load(OTHER_EMBEDDING, "embedding")
    (child,) = [child for child in children() if child.pid not in before]
    own.unload(OTHER_EMBEDDING)
    assert not child.is_running()
    own.embed(OTHER_EMBEDDING, ["a"])
    own.close()
    assert {child.pid for child in children()} == before


def test_a_model_whose_process_is_killed_is_loaded_anew(gguf_root: Path) -> None:
    before = {child.pid for child in children()}
    own = GgufModels(gguf_root)
    try:
        vector = own.embed(OTHER_EMBEDDING, ["a"])
        (child,) = [child for child in children() if child.pid not in before]
        child.kill()
        child.wait(10)
        assert np.array_equal(own.embed(OTHER_EMBEDDING, ["a"]), vector)
    finally:
        own.close()


ORPHAN = """
import sys, time
from pathlib import Path
from ragbase_inference.gguf.models import GgufModels

models = GgufModels(Path(sys.argv[1]))
models.load(sys.argv[2], "embedding")
(process,) = models._leases._registry._models.values()
print(process._process.pid, process._process.socket, flush=True)
time.sleep(600)
"""


def test_a_model_ends_with_its_parent_however_that_ends(gguf_root: Path) -> None:
    command = [sys.executable, "-c", ORPHAN, str(gguf_root), OTHER_EMBEDDING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, socket = parent.stdout.readline().split()
        child = psutil.Process(int(pid))
        assert Path(socket).exists()
        parent.kill()
    until = monotonic() + 20
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        assert monotonic() < until
        sleep(0.05)
    assert not Path(socket).parent.exists()


def test_the_process_sees_no_secrets(gguf_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:password@host/db")
    before = {child.pid for child in children()}
    own = GgufModels(gguf_root)
    try:
        own.load(OTHER_EMBEDDING, "embedding")
        (child,) = [child for child in children() if child.pid not in before]
        assert "DATABASE_URL" not in child.environ()
    finally:
        own.close()
