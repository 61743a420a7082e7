"""``python -m ragbase_operator.charts``: write the generated files of the charts, or check them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ragbase_operator.charts.pages import stale, write

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0, or 1 where a file is out of date."""
    parser = argparse.ArgumentParser(prog="python -m ragbase_operator.charts", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the checkout")
    parser.add_argument("--check", action="store_true", help="name the files that are out of date")
    chosen = parser.parse_args(arguments)
    if not chosen.check:
        write(chosen.root)
        return 0
    found = stale(chosen.root)
    if found:
        sys.stderr.write(f"Out of date: {', '.join(found)}\n`make charts` writes them again.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
