"""Integers come out alike on a CPU without VNNI, emulated: Debian's package ``qemu-user``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ragbase_inference.embedder import TextEmbedder, open_embedder

QEMU = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
SUBJECTS = [
    "wing flutter at high speed",
    "the cat sat on the mat",
    "heat transfer in slender bodies",
    "naïve café 世界",
]
TEXTS = [f"{subject}, number {number}" for number in range(25) for subject in SUBJECTS]
CODE = """
import sys
import numpy as np
from ragbase_inference.embedder import open_embedder
model = open_embedder("all-MiniLM-L6-v2", threads=1, precision="int8")
texts = open(sys.argv[1], encoding="utf-8").read().splitlines()
np.save(sys.argv[2], model.embed(model.encode_texts(texts)))
"""


@pytest.mark.slow
@pytest.mark.skipif(QEMU is None, reason="qemu-x86_64 is not installed (Debian: qemu-user)")
@pytest.mark.skipif(sys.platform != "linux", reason="qemu-user runs on Linux")
def test_int8_on_a_haswell(minilm: TextEmbedder, tmp_path: Path) -> None:
    """AVX2 adds products in 16 bits, where 8-bit weights would overflow: seven bits do not."""
    texts, vectors = tmp_path / "texts.txt", tmp_path / "vectors.npy"
    texts.write_text("\n".join(TEXTS), encoding="utf-8")
    command = [str(QEMU), "-cpu", "Haswell", sys.executable, "-c", CODE, str(texts), str(vectors)]
    subprocess.run(command, check=True, timeout=600)
    emulated = np.load(vectors)
    exact = open_embedder("all-MiniLM-L6-v2", threads=2, precision="fp32")
    assert (emulated * exact.embed(exact.encode_texts(TEXTS))).sum(1).min() >= 0.98
    here = minilm.embed(minilm.encode_texts(TEXTS))
    assert (emulated * here).sum(1).min() > 0.9999
