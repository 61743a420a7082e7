"""The package sends nothing about its users."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_onnx_runtime_leaves_no_device_id(tmp_path: Path) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"},
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / ".cache"),
    }
    subprocess.run(
        [sys.executable, "-c", "import ragbase_inference.session"], env=environment, check=True
    )
    assert list(tmp_path.rglob("*")) == []
