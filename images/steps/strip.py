"""strip.py FOLDER: takes from shared libraries below FOLDER what the loader never reads.

Some wheels carry debug information several times the size of their code (spaCy, llama.cpp). Base
images have no binutils, so this cuts each file behind its last segment: symbols, debug information
and the table of sections lie there, and programs are run by segments alone (System V ABI, "Program
Loading": the section header table is for linkers). Files of other kinds are left as they are.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Final

__all__ = ["main", "stripped"]

_ELF64_LITTLE: Final = b"\x7fELF\x02\x01"
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
"""Elf64_Ehdr: …, program headers, section headers, flags, own size, size and number of each."""
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
"""Elf64_Phdr: type, flags, offset, addresses, size in the file, …."""


def stripped(library: bytes) -> bytes:
    """A shared library without sections; other files as they are."""
    if not library.startswith(_ELF64_LITTLE):
        return library
    fields = list(_HEADER.unpack_from(library))
    table, size, count = fields[5], fields[9], fields[10]
    if size != _SEGMENT.size or count == 0:
        return library
    end = table + size * count
    for number in range(count):
        segment = _SEGMENT.unpack_from(library, table + size * number)
        end = max(end, segment[2] + segment[5])
    fields[6] = fields[12] = fields[13] = 0  # where section headers are, their number, their names
    return _HEADER.pack(*fields) + library[_HEADER.size : end]


def main(folder: Path) -> int:
    """Strip all libraries below ``folder``; the bytes that went."""
    saved = 0
    for path in sorted(folder.rglob("*.so*")):
        if path.is_symlink() or not path.is_file():
            continue
        library = path.read_bytes()
        lean = stripped(library)
        if len(lean) < len(library):
            path.write_bytes(lean)
            saved += len(library) - len(lean)
    return saved


if __name__ == "__main__":
    print(f"stripped {main(Path(sys.argv[1])) / 1e6:.0f} MB")
