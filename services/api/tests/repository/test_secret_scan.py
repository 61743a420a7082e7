"""`make check` fails when a key or a private key is added."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ragbase.services.keys_format import new_key

ROOT = Path(__file__).parents[4]


def scan(*paths: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ".ci/secret_scan.py", *map(str, paths)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


SECRETS = {
    "own key": f"curl -H 'X-API-Key: {new_key().text}'",
    "private key": "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIE",
    "any private key": "-----BEGIN " + "PRIVATE KEY-----",
    "cloud key": "id = " + "AKIA" + "Q7XR2WZPLM4N8TVB",
    "source host token": "ghp_" + "a1B2c3D4e5F6" * 3,
    "model hub token": "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
    "assigned": 'API_KEY = "' + "k9Zx2Lq8" * 4 + '"',
    "in a URL": "postgresql://admin:" + "Tr0ub4dor" + "@db.example/data",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_what_looks_like_a_secret_fails_and_is_not_repeated(tmp_path: Path, text: str) -> None:
    file = tmp_path / "notes.md"
    file.write_text(f"one\n{text}\n")
    done = scan(file)
    assert done.returncode == 1
    assert f"{file}:2: " in done.stdout
    assert text not in done.stdout


def test_placeholders_and_marked_lines_pass(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    key = new_key().text
    file.write_text(
        "postgresql://user:password@host:5432/database\n"
        "rb_<id>_<secret>\n"
        f"{key}  # pragma: allowlist secret\n"
    )
    assert scan(file).returncode == 0


def test_the_repository_holds_no_secret() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    done = scan()
    assert done.returncode == 0, done.stdout
