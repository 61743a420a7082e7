"""What a process of its own costs a file: a fresh interpreter, a fork, or a process used again.

Method. A text of 20,000 characters is read as each kind of file, ``--rounds`` times each way: by
`FreshProcesses` (a new interpreter a file), by `ForkServer` (a fork of a process that has the libraries
loaded), and by the same function in this process, which is the least that a process used again would
take. Medians of the time on the clock; the first file, which starts the fork server and loads the
kind's libraries, is shown by itself.

Usage: python -m bench.parse [--rounds 15] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import io
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pypdfium2
from pypdfium2 import raw

from bench.report import Bar, write_report
from bench.upload import prose, word_document
from ragbase.ingest.parse.child import load
from ragbase.ingest.parse.kinds import ENDINGS
from ragbase.ingest.parse.launch import ForkServer, FreshProcesses
from ragbase.ingest.parse.parsed import FileFacts
from ragbase.ingest.parse.parser import FileParser, ParseLimits

CHARACTERS = 20_000
FORK_MOST_MS = 150.0


def pdf_document(text: str) -> bytes:
    """A PDF file of these lines, 40 a page."""
    document = pypdfium2.PdfDocument.new()
    lines = text.split(". ")
    for start in range(0, len(lines), 40):
        page = document.new_page(612, 792)
        for place, line in enumerate(lines[start : start + 40]):
            shown = raw.FPDFPageObj_NewTextObj(document.raw, b"Helvetica", 8.0)
            encoded = (line + "\0").encode("utf-16-le")
            units = (ctypes.c_ushort * (len(encoded) // 2)).from_buffer_copy(encoded)
            raw.FPDFText_SetText(shown, units)
            raw.FPDFPageObj_Transform(shown, 1, 0, 0, 1, 40, 760 - 18 * place)
            raw.FPDFPage_InsertObject(page.raw, shown)
        raw.FPDFPage_GenerateContent(page.raw)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def files() -> dict[str, bytes]:
    """The same text as each kind of file."""
    text = prose(CHARACTERS)
    paragraphs = text.split("\n\n")
    return {
        "a.txt": text.encode(),
        "a.md": ("# Title\n\n" + "\n\n## Section\n\n".join(paragraphs)).encode(),
        "a.html": ("<title>T</title>" + "".join(f"<p>{part}</p>" for part in paragraphs)).encode(),
        "a.csv": ("number,text\n" + "".join(f'1,"{part}"\n' for part in paragraphs)).encode(),
        "a.docx": word_document(text),
        "a.pdf": pdf_document(text),
    }


async def timed(read: Callable[[], Awaitable[Any]], rounds: int) -> tuple[float, float]:
    """Milliseconds of the first call, and the median of the others."""
    taken = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        await read()
        taken.append(1000 * (time.perf_counter() - started))
    return taken[0], statistics.median(taken[1:])


async def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds by file and way."""
    limits = ParseLimits(5_000_000)
    fresh, forked = FileParser(limits, FreshProcesses()), FileParser(limits, ForkServer())
    found = {}
    for name, data in files().items():
        module = load(ENDINGS[Path(name).suffix])

        async def here(module: Any = module, data: bytes = data, name: str = name) -> None:
            module.parse(data, FileFacts(name))

        def there(parser: FileParser, data: bytes = data, name: str = name) -> Any:
            return lambda: parser.parse(io.BytesIO(data), len(data), name)

        first, fork = await timed(there(forked), rounds)
        found[name] = {
            "fresh interpreter": round((await timed(there(fresh), rounds))[1], 1),
            "fork": round(fork, 1),
            "first fork": round(first, 1),
            "in a process used again, at least": round((await timed(here, rounds))[1], 1),
        }
    await forked.aclose()
    return found


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = asyncio.run(measure(options.rounds))
    columns = list(found["a.txt"])
    lines = [
        f"# Reading a file of {CHARACTERS:,} characters, in milliseconds",
        "",
        f"| file | {' | '.join(columns)} |",
        f"|{'---|' * (len(columns) + 1)}",
        *(
            f"| {name} | {' | '.join(str(row[c]) for c in columns)} |"
            for name, row in found.items()
        ),
    ]
    text = "\n".join(lines)
    print(text)
    demands = [Bar(f"{name}: fork, ms", row["fork"], FORK_MOST_MS) for name, row in found.items()]
    if options.out is not None:
        write_report(options.out / "parse", {"files": found}, demands, text)
    return 0 if all(bar.met for bar in demands) else 1


if __name__ == "__main__":
    sys.exit(main())
