"""Files that are made out of code: written again, or compared with what would be written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["run", "stale_files", "write_files"]


def stale_files(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Paths below ``root`` whose text is another, or that are not there."""
    return [path for path, text in texts.items() if _stored(root / path) != text]


def write_files(root: Path, texts: Mapping[str, str]) -> None:
    """Write ``texts``, by their paths below ``root``."""
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def run(
    module: str,
    about: str | None,
    again: str,
    *,
    write: Callable[[Path], None],
    stale: Callable[[Path], list[str]],
    arguments: list[str] | None = None,
) -> int:
    """``python -m module [--root DIR] [--check]``: exit code 0, or 1 where a file is out of date.

    ``again`` is the command that writes the files again.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the checkout")
    parser.add_argument("--check", action="store_true", help="name the files that are out of date")
    chosen = parser.parse_args(arguments)
    if not chosen.check:
        write(chosen.root)
        return 0
    found = stale(chosen.root)
    if found:
        sys.stderr.write(f"Out of date: {', '.join(found)}\n`{again}` writes them again.\n")
    return 1 if found else 0


def _stored(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
