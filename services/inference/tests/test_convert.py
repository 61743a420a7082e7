"""Conversion happens once, and again when anything it depends on changes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragbase_inference.config import ModelConfig, read_config
from ragbase_inference.convert import default_precision, onnx_file
from ragbase_inference.encoder import write_encoder
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.resolve import resolve
from ragbase_inference.session import EncoderSession, pad


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBASE_CACHE", str(tmp_path / "cache"))


class Reports(list[str]):
    """Collects what a conversion says."""

    def convert(self, config: ModelConfig, precision: Any = "fp32") -> Path:
        return onnx_file(config, precision, self.append)


def test_once(make_model: Any) -> None:
    config, reports = read_config("own/model", make_model()), Reports()
    first = reports.convert(config)
    assert reports == ["converting own/model to ONNX (fp32), once"]
    assert reports.convert(config) == first
    assert len(reports) == 1


def test_other_weights_settings_or_precision_are_converted_anew(make_model: Any) -> None:
    reports = Reports()
    paths = {
        reports.convert(read_config("own/model", make_model())),
        reports.convert(read_config("own/model", make_model(seed=1, name="other"))),
        reports.convert(read_config("own/model", make_model(hidden_act="relu", name="third"))),
        reports.convert(read_config("own/model", make_model()), "int8"),
    }
    assert len(paths) == len(reports) == 4


def test_the_same_model_in_another_folder_is_not(make_model: Any) -> None:
    reports = Reports()
    for name in ("one", "two"):
        reports.convert(read_config("own/model", make_model(name=name)))
    assert len(reports) == 1


def test_two_processes_at_once(make_model: Any, tmp_path: Path) -> None:
    folder = make_model()
    code = (
        "import sys; from ragbase_inference.embedder import open_embedder;"
        "model = open_embedder(sys.argv[1], threads=1);"
        "print(model.embed(model.encode_texts(['the cat']))[0, :4].tolist())"
    )
    command = [sys.executable, "-c", code, str(folder)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1] != ""
    (entry,) = (tmp_path / "cache" / "models").iterdir()
    assert {file.name for file in entry.iterdir()} == {"model.onnx", "weights.bin"}


def published(folder: Path, config: ModelConfig) -> None:
    """Make the folder one of a foreign architecture that ships its ONNX."""
    (folder / "onnx").mkdir()
    write_encoder(config, folder / "onnx", "fp32")
    raw = json.loads((folder / "config.json").read_text()) | {"model_type": "foreign"}
    (folder / "config.json").write_text(json.dumps(raw))


def test_a_foreign_architecture_runs_from_its_own_onnx(make_model: Any) -> None:
    folder, reports = make_model(), Reports()
    config = read_config("own/model", folder)
    ours = EncoderSession(reports.convert(config), threads=1)
    published(folder, config)
    theirs = EncoderSession(reports.convert(read_config("own/model", folder)), threads=1)
    assert reports[-1] == "optimising own/model, once"
    ids = pad([[2, 5, 9, 3], [2, 3]], 0)
    np.testing.assert_allclose(theirs.hidden_state(*ids), ours.hidden_state(*ids), atol=1e-5)


def test_a_new_runtime_optimises_anew(make_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, reports = make_model(), Reports()
    published(folder, read_config("own/model", folder))
    first = reports.convert(read_config("own/model", folder))
    monkeypatch.setattr("onnxruntime.__version__", "99.0")
    assert reports.convert(read_config("own/model", folder)) != first


def test_a_model_of_neither_kind_is_refused(make_model: Any) -> None:
    folder = make_model(model_type="foreign")
    with pytest.raises(ModelUnavailableError, match="'foreign'"):
        Reports().convert(read_config("own/model", folder))


@pytest.mark.parametrize(
    "changes",
    [{"position_embedding_type": "alibi"}, {"auto_map": {"AutoModel": "x"}}, {"is_decoder": True}],
)
def test_a_variant_under_a_known_name_is_not_converted(
    make_model: Any, changes: dict[str, Any]
) -> None:
    with pytest.raises(ModelUnavailableError, match="neither"):
        Reports().convert(read_config("own/model", make_model(**changes)))


def test_int8_is_for_models_that_were_measured(make_model: Any) -> None:
    found = resolve("all-MiniLM-L6-v2")
    assert default_precision(read_config(found.name, found.folder)) == "int8"
    assert default_precision(read_config("own/model", make_model())) == "fp32"
