"""Docker, Podman and Buildah: which of them this machine has, and how each is asked."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

__all__ = ["Build", "Engine", "archive_command", "build_command", "find_engine"]

Engine = Literal["docker", "podman", "buildah"]
_TIMEOUT_S: Final = 20


@dataclass(frozen=True, slots=True)
class Build:
    """What is built, and from what. ``arguments`` are build arguments, ``secrets`` files."""

    reference: str
    dockerfile: Path
    context: Path
    arguments: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Path] = field(default_factory=dict)
    fresh: bool = False
    """Whether every step runs anew, whatever is cached."""
    output: Path | None = None
    """Folder that gets the files of the image; None: it is an image like others."""


def _answers(command: list[str]) -> bool:
    """Whether a program is there and succeeds: the client of Docker alone builds nothing."""
    if shutil.which(command[0]) is None:
        return False
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def find_engine(
    wanted: str | None, answers: Callable[[list[str]], bool] = _answers
) -> Engine | None:
    """``wanted``, or the first that works; None where there is none.

    ValueError for a name that is none of the three, or one that does not work here.
    """
    tests: dict[Engine, list[str]] = {
        "docker": ["docker", "info"],
        "podman": ["podman", "info"],
        "buildah": ["buildah", "--version"],
    }
    if wanted is None:
        return next((engine for engine, test in tests.items() if answers(test)), None)
    for engine, test in tests.items():
        if engine == wanted:
            if answers(test):
                return engine
            raise ValueError(f"{wanted} does not work here: `{' '.join(test)}` fails")
    raise ValueError(f"{wanted!r} is none of {', '.join(get_args(Engine))}")


def build_command(engine: Engine, build: Build) -> list[str]:
    """The command that builds and tags an image."""
    command: dict[Engine, list[str]] = {
        "docker": ["docker", "build"],
        "podman": ["podman", "build", "--format", "oci"],
        # chroot: needs no network of its own, which Buildah would leave on the host.
        "buildah": ["buildah", "build", "--format", "oci", "--isolation", "chroot"],
    }
    arguments = [f"--build-arg={name}={value}" for name, value in build.arguments.items()]
    secrets = [f"--secret=id={name},src={path}" for name, path in build.secrets.items()]
    options = ["--no-cache"] if build.fresh else ["--layers"] if engine != "docker" else []
    if build.output is not None:
        options.append(f"--output=type=local,dest={build.output}")
    place = ["--file", str(build.dockerfile), "--tag", build.reference, str(build.context)]
    return [*command[engine], *options, *arguments, *secrets, *place]


def archive_command(engine: Engine, reference: str, path: Path) -> list[str]:
    """The command that writes an image to an archive with an OCI layout."""
    commands: dict[Engine, list[str]] = {
        "docker": ["docker", "save", "--output", str(path), reference],
        "podman": ["podman", "save", "--format", "oci-archive", "--output", str(path), reference],
        "buildah": ["buildah", "push", "--quiet", reference, f"oci-archive:{path}:{reference}"],
    }
    return commands[engine]
