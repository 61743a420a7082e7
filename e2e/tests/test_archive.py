"""Image archives of one program."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

from e2e.node.archive import write_archive


def read(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {each.name: tar.extractfile(each).read() for each in tar}  # type: ignore[union-attr]


def written(folder: Path) -> Path:
    program = folder / "pause"
    program.write_bytes(b"\x7fELF and so on")
    write_archive(folder / "image.tar", "localhost/pause:1", program, "65535:65535")
    return folder / "image.tar"


def test_the_manifest_names_configuration_layer_and_reference(tmp_path: Path) -> None:
    files = read(written(tmp_path))
    (image,) = json.loads(files["manifest.json"])
    assert image["RepoTags"] == ["localhost/pause:1"]
    assert set(files) == {"manifest.json", image["Config"], *image["Layers"]}


def test_the_configuration_runs_the_program_as_the_user(tmp_path: Path) -> None:
    files = read(written(tmp_path))
    (name,) = (each for each in files if each not in ("manifest.json", "layer.tar"))
    config = json.loads(files[name])
    assert config["config"] == {"Entrypoint": ["/pause"], "User": "65535:65535"}
    layer = hashlib.sha256(files["layer.tar"]).hexdigest()
    assert config["rootfs"]["diff_ids"] == [f"sha256:{layer}"]
    assert name == f"{hashlib.sha256(files[name]).hexdigest()}.json"


def test_the_layer_holds_an_executable_and_is_the_same_each_time(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = written(tmp_path / "a"), written(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    (tmp_path / "layer.tar").write_bytes(read(first)["layer.tar"])
    with tarfile.open(tmp_path / "layer.tar") as tar:
        (member,) = tar.getmembers()
    assert (member.name, member.mode, member.uid) == ("pause", 0o755, 0)
