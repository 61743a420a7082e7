"""``python -m charts.monitoring`` writes the files again; ``--check`` fails when one is stale."""

from __future__ import annotations

import argparse
import sys

from charts.monitoring.files import FOLDER, rendered, stale


def main() -> int:
    """Exit status 1 where a file is stale."""
    parser = argparse.ArgumentParser(prog="python -m charts.monitoring")
    parser.add_argument("--check", action="store_true", help="change nothing; tell what is stale")
    old = stale()
    if parser.parse_args().check:
        for name in old:
            sys.stderr.write(f"stale: {FOLDER / name}; run `make monitoring`\n")
        return 1 if old else 0
    wanted = rendered()
    for name in old:
        path = FOLDER / name
        if name not in wanted:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
