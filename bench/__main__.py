"""All benches, one after the other: ``python -m bench``. Reports go to bench/results.

Takes about an hour on two cores; a single one runs by its name (``python -m bench.lexical``).
"""

from __future__ import annotations

import subprocess
import sys

SIZES = ("10000", "100000")
OUT = ("--out", "bench/results")
RUNS = (
    ("bench.embedder", *OUT),
    ("bench.chunking", *OUT),
    *(("bench.lexical", "--chunks", size, *OUT) for size in SIZES),
    *(("bench.semantic", "--chunks", size, *OUT) for size in SIZES),
    ("bench.latency", "--chunks", *SIZES, *OUT),
    ("bench.load", *OUT),
    ("bench.backup", "--chunks", *SIZES, *OUT),
    ("bench.ingest", *OUT),
    ("bench.parse", *OUT),
    ("bench.upload", *OUT),
    ("bench.csv_rows", *OUT),
    ("bench.graph", *OUT),
    ("bench.concepts", *OUT),
    ("bench.inference", *OUT),
    ("bench.localrag", "--chunks", "10000", *OUT),
    ("bench.localrag_memory", *OUT),
    ("bench.localrag_quality", *OUT),
)


def main() -> int:
    """Run each as a process of its own; the exit code tells whether every bar was met."""
    failed = []
    for run in RUNS:
        print(f"\n# python -m {' '.join(run)}\n", flush=True)
        if subprocess.run([sys.executable, "-m", *run], check=False).returncode:
            failed.append(run[0])
    if failed:
        print(f"Bars missed or not run: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
