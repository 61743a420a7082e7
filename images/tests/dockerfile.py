"""Reads Dockerfiles: enough of them for the rules that hadolint does not know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from images.catalogue import ROOT

__all__ = ["DOCKERFILES", "Instruction", "instructions"]

DOCKERFILES = sorted(ROOT.glob("images/*/Dockerfile"))


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, its continued lines joined."""

    name: str
    value: str


def instructions(path: Path) -> list[Instruction]:
    """All instructions in their order, without comments."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [Instruction(name.upper(), value.strip()) for name, _, value in found]
