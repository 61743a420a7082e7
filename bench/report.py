"""What the benches share: demands, a place for a server's files, and written reports."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Bar", "state_folder", "write_report"]


@dataclass(frozen=True)
class Bar:
    """A demand: ``value`` must be at most (or at least) ``limit``."""

    name: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@contextmanager
def state_folder() -> Iterator[Path]:
    """A folder, removed afterwards, that the server's unprivileged user may enter if we are root."""
    with tempfile.TemporaryDirectory(prefix="ragbase-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


def write_report(path: Path, report: dict[str, Any], demands: Sequence[Bar], text: str) -> None:
    """Write ``path``.json, with the demands under ``bars``, and ``path``.md."""
    path.parent.mkdir(parents=True, exist_ok=True)
    report["bars"] = [asdict(bar) | {"met": bar.met} for bar in demands]
    path.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
    path.with_suffix(".md").write_text(text + "\n")
