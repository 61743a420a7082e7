"""The rules that every Dockerfile keeps."""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from images.catalogue import IMAGES, ROOT
from images.tests.dockerfile import DOCKERFILES, instructions

each_dockerfile = pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
each_image = pytest.mark.parametrize("image", IMAGES.values(), ids=lambda image: image.folder)
HADOLINT = Path(sys.executable).with_name("hadolint")
SECRETS = ("package-index", "ca-bundle", "uv-config", "netrc")
LABELS = ("title", "description", "version", "revision", "licenses", "vendor")


def values(path: Path, name: str) -> list[str]:
    return [each.value for each in instructions(path) if each.name == name]


def test_every_image_of_the_catalogue_has_a_dockerfile():
    folders = {path.parent.name for path in DOCKERFILES}
    assert folders == {*IMAGES, "sbom"}


@each_dockerfile
def test_hadolint_finds_nothing(path):
    config = ROOT / "images/hadolint.yaml"
    done = subprocess.run(
        [HADOLINT, "--no-color", "--config", config, path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@each_dockerfile
def test_the_base_is_one_argument_and_its_default_a_fixed_tag(path):
    default = next(arg for arg in values(path, "ARG") if arg.startswith("BASE_IMAGE="))
    name, _, tag = default.partition("=")[2].rpartition(":")
    assert name == "docker.io/library/python"
    assert re.fullmatch(r"3\.\d+-slim-\w+", tag)
    sources = {source.split()[0] for source in values(path, "FROM")}
    assert sources <= {"${BASE_IMAGE}", "${IMAGE}", "scratch"}


@each_dockerfile
def test_nothing_is_fetched_but_by_the_step_that_has_the_machines_index(path):
    assert not values(path, "ADD")
    for command in values(path, "RUN"):
        downloads = re.search(r"\b(locks|torch|postgres-client|openmp)\.sh\b", command)
        if downloads is None:
            assert "secret" not in command
            continue
        assert "indexed.sh" in command
        for secret in SECRETS:
            assert f"--mount=type=secret,id={secret} " in command


def test_no_index_is_named_but_pytorchs_own_builds():
    for path in (*DOCKERFILES, *ROOT.glob("images/steps/*.sh")):
        for url in re.findall(r"\w+://[^\s\"']+", path.read_text()):
            assert url.startswith("https://download.pytorch.org/whl/"), path


@each_image
def test_it_runs_as_the_products_user_whom_kubernetes_can_tell_from_root(image):
    assert values(image.dockerfile, "USER") == ["10001:10001"]
    stages = [each.name for each in instructions(image.dockerfile)]
    assert stages.index("USER") > len(stages) - 1 - stages[::-1].index("FROM")


@each_image
def test_pods_need_to_set_args_alone(image):
    [entrypoint] = values(image.dockerfile, "ENTRYPOINT")
    [program] = json.loads(entrypoint)
    assert program.startswith("/opt/ragbase/bin/")
    [default] = values(image.dockerfile, "CMD")
    assert json.loads(default)[0] in {"serve", "run"}


@each_image
def test_labels_say_what_it_is(image):
    labels = " ".join(values(image.dockerfile, "LABEL"))
    for name in LABELS:
        assert f"org.opencontainers.image.{name}=" in labels


def _in_context(source: str) -> bool:
    """Whether a path is in the context: the last pattern that fits it, or a parent, decides."""
    kept = True
    parts = Path(source).parts
    parents = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    for line in (ROOT / ".containerignore").read_text().splitlines():
        pattern = line.strip().removeprefix("!")
        if not pattern or pattern.startswith("#"):
            continue
        if any(fnmatch.fnmatchcase(parent, pattern) for parent in parents):
            kept = line.startswith("!")
    return kept


@each_dockerfile
def test_what_is_copied_is_there_and_in_the_context(path):
    for copy in values(path, "COPY"):
        if copy.startswith("--from="):
            continue
        for source in copy.split()[:-1]:
            assert (ROOT / source).exists()
            inside = [source, *(str(file.relative_to(ROOT)) for file in _some(ROOT / source))]
            assert any(_in_context(each) for each in inside), source


def _some(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.suffix in {".py", ".toml", ".sh"}]


@pytest.mark.parametrize(
    "path", [".git/config", ".env", ".ragbase/keys", "docs/README.md", "services/api/tests/ask.py"]
)
def test_the_context_leaves_out_what_no_image_needs(path):
    assert not _in_context(path)


def test_docker_ignores_what_the_others_ignore():
    assert (ROOT / ".dockerignore").read_text() == (ROOT / ".containerignore").read_text()
