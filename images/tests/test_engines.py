"""Which program builds, and how it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from images.catalogue import IMAGES
from images.engines import Build, archive_command, build_command, find_engine


def only(*programs: str):
    return lambda command: command[0] in programs


def test_a_docker_whose_daemon_is_away_is_not_taken():
    assert find_engine(None, lambda command: command != ["docker", "info"]) == "podman"


def test_the_first_that_works_is_taken():
    assert find_engine(None, only("docker", "podman", "buildah")) == "docker"
    assert find_engine(None, only("buildah")) == "buildah"
    assert find_engine(None, only()) is None


def test_a_wish_is_followed_or_refused_in_a_sentence():
    assert find_engine("buildah", only("docker", "buildah")) == "buildah"
    with pytest.raises(ValueError, match="podman does not work here"):
        find_engine("podman", only("docker"))
    with pytest.raises(ValueError, match="'kaniko' is none of docker, podman, buildah"):
        find_engine("kaniko", only("docker"))


@pytest.mark.parametrize("engine", ["docker", "podman", "buildah"])
def test_secrets_go_as_files_and_never_as_arguments(engine):
    secrets = {"package-index": Path("/s/package-index")}
    build = Build("localhost/x:1", Path("D"), Path("/c"), {"VERSION": "1"}, secrets)
    command = build_command(engine, build)
    assert "--secret=id=package-index,src=/s/package-index" in command
    assert "--build-arg=VERSION=1" in command
    assert command[-5:] == ["--file", "D", "--tag", "localhost/x:1", "/c"]


def test_buildah_leaves_no_network_on_the_host():
    command = build_command("buildah", Build("x", Path("D"), Path()))
    assert command[command.index("--isolation") + 1] == "chroot"


def test_a_build_may_leave_the_cache_alone_and_give_files_instead_of_an_image():
    build = Build("x", Path("D"), Path("/c"), fresh=True, output=Path("/o"))
    for engine in ("docker", "podman", "buildah"):
        command = build_command(engine, build)
        assert "--no-cache" in command
        assert "--layers" not in command
        assert "--output=type=local,dest=/o" in command
        assert command[-1] == "/c"


def test_archives_are_named_by_their_image():
    command = archive_command("buildah", "localhost/ragbase-api:1", Path("/a.tar"))
    assert command[-1] == "oci-archive:/a.tar:localhost/ragbase-api:1"


def test_images_are_named_as_the_operator_names_them():
    from ragbase_operator.builders.images import default_images

    expected = default_images("registry.example/ragbase", "1.2.3")
    named = {
        name: image.reference("registry.example/ragbase", "1.2.3") for name, image in IMAGES.items()
    }
    assert named["api"] == expected.api
    assert named["inference-cpu"] == expected.inference_cpu
    assert named["inference-rocm"] == expected.inference_rocm
    assert named["inference-cuda"] == expected.inference_cuda
