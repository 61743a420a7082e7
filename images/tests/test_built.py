"""Built images: size, what is in them, and that they run restricted."""

from __future__ import annotations

import struct
import tarfile
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest

from images.archives import added_bytes, configuration, layer_stream, layers
from images.catalogue import DEFAULT_IMAGES, product_version
from images.tests.test_left_out import LLAMA, WORK

each_image = pytest.mark.parametrize("name", DEFAULT_IMAGES)
MEGABYTE = 1_000_000
COMMANDS = {
    "operator": ["run"],
    "api": ["serve", "worker", "localrag", "migrate", "backup", "restore", "bench", "eval"],
    "inference-cpu": ["serve"],
}


@pytest.mark.parametrize(("name", "limit"), [("operator", 80), ("api", 200)])
def test_the_compressed_size_over_the_base_is_bounded(archive, name, limit):
    assert added_bytes(archive(name), archive("base")) <= limit * MEGABYTE


@each_image
def test_the_configuration_is_what_pods_expect(archive, name):
    config = configuration(archive(name))["config"]
    assert config["User"] == "10001:10001"
    assert len(config["Entrypoint"]) == 1
    assert config["Labels"]["org.opencontainers.image.version"] == product_version()


@cache
def members_above(image: Path, base: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Members of the layers above the base; of byte code the first 16 bytes, else nothing."""
    below = {layer.diff_id for layer in layers(base)}
    found = []
    for layer in layers(image):
        if layer.diff_id in below:
            continue
        with tarfile.open(fileobj=BytesIO(layer_stream(image, layer))) as content:
            for member in content:
                code = content.extractfile(member) if member.name.endswith(".pyc") else None
                found.append((member, code.read(16) if code else b""))
    return found


@pytest.fixture
def members(archive):
    """What the layers of an image hold, by its name."""
    return lambda name: members_above(archive(name), archive("base"))


@pytest.mark.parametrize("name", ["api", "inference-cpu"])
def test_onnx_runtime_sends_nothing_home(archive, name):
    assert "ORT_DISABLE_TELEMETRY=1" in configuration(archive(name))["config"]["Env"]


@each_image
def test_all_code_is_compiled_and_never_compared_with_its_source(members, name):
    compiled = {member.name: head for member, head in members(name) if head}
    sources = [
        Path(member.name)
        for member, _ in members(name)
        if member.name.endswith(".py") and "/site-packages/ragbase" in member.name
    ]
    assert len(sources) > 20
    for source in sources:
        found = [n for n in compiled if n.startswith(f"{source.parent}/__pycache__/{source.stem}.")]
        assert found, source
    for head in compiled.values():
        [flags] = struct.unpack("<I", head[4:8])
        assert flags == 0b01  # by a hash that is not checked: PEP 552


@each_image
def test_the_product_owns_nothing_that_it_runs(members, name):
    for member, _ in members(name):
        if member.uid == 10001:
            assert member.isdir(), member.name
            assert not member.name.startswith("opt"), member.name
        assert not member.mode & 0o6000, member.name
        world_writable = member.mode & 0o002 and not member.issym()
        assert not world_writable or member.name.rstrip("/") == "tmp", member.name


@each_image
def test_no_tool_of_the_build_is_left(members, name):
    names = {member.name for member, _ in members(name)}
    assert not [path for path in names if path.startswith(("build", "run/secrets/", "root/.cache"))]
    assert not [path for path in names if "/site-packages/pip/" in path or path.endswith("/bin/uv")]


@each_image
def test_every_command_answers_on_a_read_only_root(unpacked, name):
    image = unpacked(name)
    for command in COMMANDS[name]:
        done = image.run(command, "--help")
        assert done.returncode == 0, done.stderr
        assert "usage" in done.stdout.lower()


@pytest.mark.parametrize("work", [*WORK.values(), LLAMA], ids=[*WORK, "GGUF models by llama.cpp"])
def test_what_custom_resources_offer_is_in_the_image_of_the_api(unpacked, work):
    """With its lean libraries, on a read-only root, as the user of a restricted pod."""
    done = unpacked("api").run(work, program=["/opt/ragbase/bin/python", "-c"])
    assert done.returncode == 0, done.stderr


def test_it_is_the_user_and_the_rights_of_a_restricted_pod(unpacked):
    script = (
        "import os; print(os.getuid(), os.getgid(), os.getgroups(), os.access('/opt', os.W_OK))"
    )
    program = ["/opt/ragbase/bin/python", "-c"]
    done = unpacked("operator").run(script, program=program)
    assert done.stdout.split() == ["10001", "10001", "[]", "False"], done.stderr
    status = unpacked("operator").run("/proc/self/status", program=["/bin/cat"]).stdout
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status


def test_an_operator_without_a_cluster_ends_with_an_error_and_no_lock_on_the_root(unpacked):
    done = unpacked("operator").run("run")
    assert done.returncode != 0
    assert "Read-only file system" not in done.stderr + done.stdout
