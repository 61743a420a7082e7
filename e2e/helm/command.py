"""Helm as a command on one cluster."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Helm", "HelmError"]

TIMEOUT_S = 600.0


class HelmError(Exception):
    """Helm refused or failed; the message is what it printed."""


@dataclass(frozen=True, slots=True)
class Helm:
    """Runs ``program``; without a kubeconfig only what needs no cluster."""

    program: Path
    kubeconfig: Path | None = None

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Standard output of one command. Raises `HelmError`."""
        done = self.start(*arguments).finish(stdin)
        if done.code:
            raise HelmError(done.text)
        return done.out

    def start(self, *arguments: str) -> Running:
        """Begin a command that does not return at once, such as one that waits for a hook."""
        return Running([str(self.program), *arguments], self.environment())

    def template(self, name: str, chart: Path, *arguments: str) -> list[dict[str, Any]]:
        """The objects that a chart renders, without a cluster. Raises `HelmError`."""
        text = self.run("template", name, str(chart), *arguments)
        return [each for each in yaml.safe_load_all(text) if each]

    def environment(self) -> dict[str, str]:
        """Nothing of the user's own Helm: no plugins, no repositories, no kubeconfig."""
        home = Path(tempfile.gettempdir()) / f"ragbase-helm-{os.getpid()}"
        folders = {f"HELM_{each}_HOME": str(home) for each in ("CACHE", "CONFIG", "DATA")}
        kubeconfig = str(self.kubeconfig) if self.kubeconfig else os.devnull
        return {**os.environ, **folders, "KUBECONFIG": kubeconfig}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command has printed, and its exit status."""

    code: int
    out: str
    text: str


class Running:
    """A Helm that runs."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            list(command),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, stdin: str | None = None) -> Outcome:
        """Wait for its end."""
        try:
            out, err = self._process.communicate(stdin, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise
        return Outcome(self._process.returncode, out, f"{err}{out}".strip())

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._process.poll() is not None
