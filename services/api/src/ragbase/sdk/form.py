"""A file as a form: what both clients send to the upload route."""

from __future__ import annotations

import io
import json
import mimetypes
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["FileForm"]


@dataclass(frozen=True, slots=True)
class FileForm:
    """A file and its fields. It is opened for each attempt, and sent piece by piece."""

    name: str
    content: Path | bytes
    fields: Mapping[str, Any] = field(default_factory=dict)

    @contextmanager
    def arguments(self) -> Iterator[dict[str, Any]]:
        """Arguments of an httpx request. Raises `OSError` where the file cannot be read."""
        media_type = mimetypes.guess_type(self.name)[0] or "application/octet-stream"
        # Given here because the clients send JSON by default.
        content_type = f"multipart/form-data; boundary={secrets.token_hex(16)}"
        with self._opened() as stream:
            yield {
                "files": {"file": (self.name, stream, media_type)},
                "data": {name: _text(value) for name, value in self.fields.items()},
                "headers": {"Content-Type": content_type},
            }

    def _opened(self) -> BinaryIO:
        if isinstance(self.content, bytes):
            return io.BytesIO(self.content)
        return self.content.open("rb")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return json.dumps(dict(value), allow_nan=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
