"""Finds what looks like a key, token, password or private key: ``python .ci/secret_scan.py``.

The patterns are detect-secrets'; its own scanner tries them line by line and takes half a minute
on this repository, so they are run over whole files here. Prints ``file:line: kind``, never the
secret. A line that only looks like one says ``pragma: allowlist secret``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.plugins.base import RegexBasedDetector

__all__ = ["findings", "main"]

ALLOWED_LINE = "pragma: allowlist secret"
OURS = {
    "RagBase API key": [re.compile(r"rb_[a-z0-9]{8,32}_[A-Za-z0-9-]{43,}")],
    "OpenAI key": [re.compile(r"\bsk-[A-Za-z0-9_-]{40,}")],
    "Hugging Face token": [re.compile(r"\bhf_[A-Za-z0-9]{34}\b")],
    "Assigned secret": [
        re.compile(
            r"""(?i)(?:key|secret|token|passwd|password)["']?\s*[:=]\s*["']([A-Za-z0-9+/_=-]{32,})["']"""
        )
    ],
    "Private key": [re.compile(r"-----BEGIN[A-Z ]* PRIVATE KEY( BLOCK)?-----")],
}
NOISY = {"Secret Keyword", "Public IP (ipv4)", "Private Key"}
"""Any word like "password"; any address; the last one is ours, which needs the whole marker."""
PLACEHOLDERS = frozenset(
    ["password", "wrong", "secret", "pw", "p", "x", "pass", "p%40ss", "s%3Acret%40", "{password}"]
)
"""Passwords of URLs in examples and tests."""


def patterns() -> dict[str, list[re.Pattern[str]]]:
    """By the kind of secret that they find."""
    found: dict[str, list[re.Pattern[str]]] = dict(OURS)
    detectors: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for kind, detector in detectors.items():
        if issubclass(detector, RegexBasedDetector) and kind not in NOISY:
            found[kind] = list(detector().denylist)
    return found


def findings(text: str, kinds: dict[str, list[re.Pattern[str]]]) -> Iterator[tuple[int, str]]:
    """Line numbers and kinds of what looks like a secret in ``text``."""
    lines = text.splitlines()
    for kind, each in kinds.items():
        for match in (match for pattern in each for match in pattern.finditer(text)):
            if match[match.lastindex or 0] in PLACEHOLDERS:
                continue
            number = text.count("\n", 0, match.start()) + 1
            if ALLOWED_LINE not in lines[number - 1]:
                yield number, kind


def main(paths: list[str]) -> int:
    """Scan these files, or all that git does not ignore; 1 where something was found."""
    kinds = patterns()
    found = [
        f"{path}:{number}: {kind}"
        for path in paths or _files()
        for number, kind in sorted(set(findings(_read(path), kinds)))
    ]
    for line in found:
        print(line)
    if found:
        print(
            f"Looks like secrets: {len(found)}. Take them out, and make new ones if they are real."
        )
    return bool(found)


def _files() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout
    return [name for name in listed.decode().split("\0") if name and Path(name).is_file()]


def _read(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
