"""The hub: what is fetched, what comes from its cache, what is said when it cannot be had.

The hub itself is a small server of this test that speaks as much of its protocol as is used.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from ragbase_inference import hub as module
from ragbase_inference.errors import ModelUnavailableError, NotInstalledError
from ragbase_inference.files import ModelFiles, Runner, embedding_on_onnx, runners_of
from ragbase_inference.hub import cached, fetch, wanted_files

REVISION = "a" * 40


class HubHandler(BaseHTTPRequestHandler):
    """Serves ``server.models``: name → {file: bytes}, or (status, error code) instead."""

    server: Any

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.split("?")[0].removeprefix("/api/models")
        owner, name, *rest = path.strip("/").split("/")
        self.server.asked.append("/".join(rest))
        model = self.server.models.get(f"{owner}/{name}", (404, "RepoNotFound"))
        if isinstance(model, tuple):
            self._answer(model[0], b"", {"X-Error-Code": model[1]})
        elif rest[:1] == ["resolve"]:
            self._file(model, "/".join(rest[2:]))
        elif rest[:1] == ["tree"]:
            self._json([self._entry(name, data) for name, data in model.items()])
        else:
            files = [{"rfilename": file} for file in model]
            self._json({"id": f"{owner}/{name}", "sha": REVISION, "siblings": files})

    def _entry(self, name: str, data: bytes) -> dict[str, Any]:
        oid = hashlib.sha1(data).hexdigest()
        return {"type": "file", "path": name, "size": len(data), "oid": oid}

    def _file(self, model: dict[str, bytes], file: str) -> None:
        if file not in model:
            self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        etag = hashlib.sha1(model[file]).hexdigest()
        self._answer(200, model[file], {"ETag": f'"{etag}"', "X-Repo-Commit": REVISION})

    def _json(self, value: Any) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name there
        """Stay quiet."""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), HubHandler)
    server.models, server.asked = {}, []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    yield server
    server.shutdown()
    server.server_close()


def fetched(name: str, revision: str | None) -> Path:
    """Folder of an embedding model for ONNX Runtime."""
    folder, runner = fetch(name, revision, embedding_on_onnx)
    assert runner is Runner.ONNX_EMBEDDING
    return folder


def runner_on_onnx(files: ModelFiles) -> Runner:
    """Chooses as where torch is not installed."""
    return next(one for one in runners_of(files) if one.backend == "onnx")


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_model_is_fetched_once_and_without_what_is_not_needed(
    hub: Any, make_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.models["own/model"] = {
        **files_of(make_model()),
        "README.md": b"long",
        "pytorch_model.bin": b"pickle",
        "onnx/model.onnx": b"another form of the weights",
    }
    folder = fetched("own/model", None)
    assert sorted(files_of(folder)) == ["config.json", "model.safetensors", "tokenizer.json"]
    hub.asked.clear()
    assert fetched("own/model", None) == folder
    assert hub.asked == []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetched("own/model", None) == folder


def test_a_half_fetched_model_is_completed(hub: Any, make_model: Any) -> None:
    hub.models["own/model"] = files_of(make_model())
    folder = fetched("own/model", None)
    (folder / "model.safetensors").unlink()
    assert (fetched("own/model", None) / "model.safetensors").is_file()


def test_a_cache_without_the_pooling_is_completed(hub: Any, make_model: Any) -> None:
    """As another program leaves it that wants the encoder only."""
    pooling = {"modules.json": b"[]", "1_Pooling/config.json": b"{}"}
    hub.models["own/model"] = {**files_of(make_model()), **pooling}
    folder = fetched("own/model", None)
    (folder / "1_Pooling" / "config.json").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "is_marked", lambda kind, fact: False)
        assert "1_Pooling/config.json" in files_of(fetched("own/model", None))


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        ((404, "RepoNotFound"), "no model own/model"),
        ((401, "RepoNotFound"), "no model own/model"),
        ((403, "GatedRepo"), "HF_TOKEN"),
        ((404, "RevisionNotFound"), "no revision v9"),
        ((500, ""), "refused own/model"),
    ],
)
def test_refusals_say_what_to_do(hub: Any, answer: tuple[int, str], advice: str) -> None:
    hub.models["own/model"] = answer
    with pytest.raises(ModelUnavailableError, match=advice):
        fetched("own/model", "v9")


def test_offline_says_what_to_do(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailableError, match="HF_HUB_OFFLINE is set"):
        fetched("own/model", None)


def test_an_unreachable_hub_says_what_to_do(hub: Any) -> None:
    hub.server_close()
    with pytest.raises(ModelUnavailableError, match="cannot be fetched"):
        fetched("own/model", None)


def torch_runner(files: ModelFiles) -> Runner:
    """Chooses as where only torch is installed."""
    for runner in runners_of(files):
        if runner.backend != "onnx":
            return runner
    raise ModelUnavailableError(f"{files.name} has no weights that torch reads")


def without_extra(files: ModelFiles) -> Runner:
    """Chooses as where no extra is installed."""
    raise NotInstalledError(f"{files.name} needs an extra")


def test_a_cross_encoder_needs_no_pooling(
    hub: Any, make_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that another program fetched is whole, and found without a request."""
    hub.models["own/model"] = files_of(make_model(labels=1, prefix="bert."))
    folder, _ = fetch("own/model", None, runner_on_onnx)
    monkeypatch.setattr(module, "is_marked", lambda kind, fact: False)
    hub.asked.clear()
    assert fetch("own/model", None, runner_on_onnx) == (folder, Runner.ONNX_PAIRS)
    assert cached("own/model", None, runner_on_onnx) == (folder, Runner.ONNX_PAIRS)
    assert hub.asked == []


def test_what_one_backend_fetched_is_completed_for_another(hub: Any, make_model: Any) -> None:
    own = files_of(make_model(labels=1, prefix="bert.", model_type="bert"))
    own["config.json"] = own["config.json"].replace(b'"model_type": "bert"', b'"model_type": "x"')
    hub.models["own/model"] = {**own, "onnx/model.onnx": b"graph", "spm.model": b"pieces"}
    folder, runner = fetch("own/model", None, runner_on_onnx)
    assert runner is Runner.ONNX_PAIRS
    assert {"onnx/model.onnx"} <= set(files_of(folder))
    assert "model.safetensors" not in files_of(folder)
    folder, runner = fetch("own/model", None, torch_runner)
    assert runner is Runner.TORCH_PAIRS
    assert {"model.safetensors", "spm.model"} <= set(files_of(folder))


def test_gliner_is_fetched_without_a_config(hub: Any) -> None:
    hub.models["own/ner"] = {
        "gliner_config.json": b"{}",
        "pytorch_model.bin": b"weights",
        "README.md": b"long",
    }
    folder, runner = fetch("own/ner", None, torch_runner)
    assert runner is Runner.GLINER
    assert sorted(files_of(folder)) == ["gliner_config.json", "pytorch_model.bin"]
    hub.asked.clear()
    assert fetch("own/ner", None, torch_runner) == (folder, runner)
    assert hub.asked == []


def test_weights_in_parts_are_fetched_whole(hub: Any) -> None:
    index = {"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}
    hub.models["own/large"] = {
        "config.json": b'{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}',
        "tokenizer.json": b"{}",
        "model.safetensors.index.json": json.dumps(index).encode(),
        "model-1-of-2.safetensors": b"1",
        "model-2-of-2.safetensors": b"2",
    }
    folder, runner = fetch("own/large", None, torch_runner)
    assert runner is Runner.QWEN_RERANKER
    (folder / "model-2-of-2.safetensors").unlink()
    folder, _ = fetch("own/large", None, torch_runner)
    assert (folder / "model-2-of-2.safetensors").is_file()


def test_nothing_large_is_fetched_for_a_backend_that_is_not_installed(
    hub: Any, make_model: Any
) -> None:
    hub.models["own/model"] = files_of(make_model())
    with pytest.raises(NotInstalledError, match="extra"):
        fetch("own/model", None, without_extra)
    assert not any("safetensors" in path for path in hub.asked)
    fetched("own/model", None)
    hub.asked.clear()
    with pytest.raises(NotInstalledError, match="extra"):
        fetch("own/model", None, without_extra)
    assert hub.asked == []


def test_no_model_id() -> None:
    with pytest.raises(ModelUnavailableError, match="neither a folder nor"):
        fetched("not a model!", None)


BERT = {"model_type": "bert", "architectures": ["BertModel"]}


def files(*names: str, **config: Any) -> ModelFiles:
    return ModelFiles("m", {**BERT, **config}, frozenset(names))


def test_weights_are_wanted_in_one_form() -> None:
    names = ["tokenizer.json", "config.json", "model.safetensors", "onnx/model.onnx"]
    converted = wanted_files(files(*names), Runner.ONNX_EMBEDDING)
    assert "model*.safetensors" in converted
    assert "onnx/model.onnx" not in converted
    published = wanted_files(files(*names, model_type="foreign"), Runner.ONNX_EMBEDDING)
    assert "onnx/model.onnx" in published
    assert "model*.safetensors" not in published


@pytest.mark.parametrize(
    ("names", "wanted", "unwanted"),
    [
        (["model.safetensors", "pytorch_model.bin"], "model*.safetensors", "pytorch_model*.bin"),
        (["pytorch_model.bin"], "pytorch_model*.bin", "model*.safetensors"),
    ],
)
def test_torch_wants_safetensors_where_there_are_any(
    names: list[str], wanted: str, unwanted: str
) -> None:
    patterns = wanted_files(files(*names), Runner.TORCH_PAIRS)
    assert wanted in patterns
    assert unwanted not in patterns
    assert "*.model" in patterns


@pytest.mark.parametrize(
    ("names", "model_type", "why"),
    [
        (["model.safetensors"], "bert", r"tokenizer\.json"),
        (["tokenizer.json", "model.safetensors"], "foreign", r"onnx/model\.onnx"),
        (["tokenizer.json", "pytorch_model.bin"], "bert", "safetensors"),
    ],
)
def test_a_model_that_cannot_be_run_is_not_fetched(
    hub: Any, names: list[str], model_type: str, why: str
) -> None:
    config = json.dumps({**BERT, "model_type": model_type}).encode()
    hub.models["own/model"] = {"config.json": config, **dict.fromkeys(names, b"large")}
    with pytest.raises(ModelUnavailableError, match=why):
        fetched("own/model", None)
    assert not any(name in " ".join(hub.asked) for name in names)
