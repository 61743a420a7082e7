"""What runs in a parser process: one file in, one answer out, and the process ends."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any, BinaryIO

from ragbase.errors import RagBaseError, TooLargeError
from ragbase.ingest.parse.confine import confine
from ragbase.ingest.parse.kinds import KINDS, FileKind
from ragbase.ingest.parse.parsed import FileFacts, ParsedFile, unreadable
from ragbase.ingest.parse.wire import Job, answer_bytes, error_bytes, read_job

__all__ = ["load", "serve"]


def load(kind: FileKind) -> Any:
    """The module that reads files of a kind; only its libraries are imported."""
    if kind not in KINDS:
        raise ValueError(f"no such kind of file: {kind}")
    return importlib.import_module(f"ragbase.ingest.parse.from_{kind}")


def serve(stream_in: BinaryIO, stream_out: BinaryIO) -> None:
    """Read a job, bound this process, do the job, write the answer."""
    job = read_job(stream_in)
    module = load(job.kind)
    confine(job.timeout_s, job.memory_bytes)
    gc.disable()  # the process ends with the file: collecting is a tenth of the work, for nothing
    stream_out.write(_answer(job, module, stream_in))
    stream_out.flush()


def _answer(job: Job, module: Any, stream_in: BinaryIO) -> bytes:
    try:
        return answer_bytes(_parsed(job, module, stream_in))
    except RagBaseError as error:
        return error_bytes(error)
    except MemoryError:
        return error_bytes(unreadable("", "parse_memory"))
    except RecursionError:
        return error_bytes(unreadable("The file is nested too deep to be read."))
    except Exception as error:  # noqa: BLE001 - whatever a library says of hostile bytes: it is them
        return error_bytes(unreadable(f"The file cannot be read ({type(error).__name__})."))


def _parsed(job: Job, module: Any, stream_in: BinaryIO) -> ParsedFile:
    data = stream_in.read(job.size)
    if len(data) < job.size:
        raise unreadable("The file did not arrive whole.")
    parsed: ParsedFile = module.parse(data, FileFacts(job.name, job.charset, job.max_chars))
    if len(parsed.content) > job.max_chars:
        raise TooLargeError(
            f"The file's text has {len(parsed.content)} characters; at most {job.max_chars} are "
            "taken (RAGBASE_MAX_TEXT_CHARS).",
            code="text_too_long",
        )
    return parsed


if __name__ == "__main__":  # a process for one file, where processes cannot be forked
    serve(sys.stdin.buffer, sys.stdout.buffer)
    os._exit(0)
