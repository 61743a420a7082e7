"""The package-index settings of this machine, as files that a build gets as secrets.

Settings are looked for where pip and uv look: the environment, pip's configuration files, uv's, a
netrc file, a bundle of certificates. A build without any of them uses the public index.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

__all__ = ["index_variables", "machine_secrets", "pip_configuration", "write_secrets"]

_PIP: Final = {
    "index-url": "PIP_INDEX_URL",
    "extra-index-url": "PIP_EXTRA_INDEX_URL",
    "trusted-host": "PIP_TRUSTED_HOST",
    "find-links": "PIP_FIND_LINKS",
    "proxy": "PIP_PROXY",
    "retries": "PIP_RETRIES",
    "timeout": "PIP_DEFAULT_TIMEOUT",
    "default-timeout": "PIP_DEFAULT_TIMEOUT",
}
_SECTIONS: Final = ("global", "install", ":env:")
"""Of pip's configuration; later ones win, as they do for pip."""
_UV: Final = re.compile(
    r"UV_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|INDEX_STRATEGY|FIND_LINKS|INSECURE_HOST|"
    r"HTTP_TIMEOUT|HTTP_RETRIES|NATIVE_TLS|SYSTEM_CERTS|INDEX_\w+_(USERNAME|PASSWORD))"
)
_OTHER: Final = re.compile(r"(?i:(https?|all|no)_proxy)|TORCH_INDEX_URL")
_CERTIFICATES: Final = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def pip_configuration() -> str:
    """What ``pip config list`` prints: all its files and variables. "" without pip."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _pip_values(listing: str) -> dict[str, str]:
    """Key → value, of the sections that an install reads."""
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in listing.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.strip().rpartition(".")
        if section in found and value:
            found[section][key] = str(ast.literal_eval(value))
    return {key: value for section in _SECTIONS for key, value in found[section].items()}


def index_variables(environment: Mapping[str, str], pip: str) -> dict[str, str]:
    """Variables for pip and uv in the build, out of the environment and ``pip config list``.

    Each of the two gets the other's index where it has none of its own: the build uses both.
    """
    values = _pip_values(pip)
    found = {_PIP[key]: value for key, value in values.items() if key in _PIP}
    found |= {
        name: value
        for name, value in environment.items()
        if value and (_UV.fullmatch(name) or _OTHER.fullmatch(name) or name in _PIP.values())
    }
    _translate(found)
    return {name: kept for name, value in found.items() if (kept := _reachable(name, value))}


def _translate(found: dict[str, str]) -> None:
    if not any(name in found for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX")):
        for pip, uv in (
            ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"),
            ("PIP_EXTRA_INDEX_URL", "UV_INDEX"),
            ("PIP_TRUSTED_HOST", "UV_INSECURE_HOST"),
            ("PIP_FIND_LINKS", "UV_FIND_LINKS"),
        ):
            if pip in found:
                found.setdefault(uv, " ".join(found[pip].split()))
        if "UV_INDEX" in found:
            # As pip does: the best version of all indexes. The locks' hashes say which file it is.
            found.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    default = found.get("UV_DEFAULT_INDEX") or found.get("UV_INDEX_URL")
    if default and "PIP_INDEX_URL" not in found:
        # uv's form may give the index a name: "name=https://…".
        found["PIP_INDEX_URL"] = re.sub(r"^[\w.-]+=(?=\w+://)", "", default)


def _reachable(name: str, value: str) -> str:
    """``value`` without folders of this machine: they are not there in a build."""
    if not name.endswith("FIND_LINKS"):
        return value
    return " ".join(each for each in re.split(r"[\s,]+", value) if "://" in each[1:])


def machine_secrets(environment: Mapping[str, str], pip: str, home: Path) -> dict[str, str]:
    """Secret → text. Only of what this machine sets."""
    found: dict[str, str] = {}
    if variables := index_variables(environment, pip):
        lines = (f"{name}={shlex.quote(value)}\n" for name, value in sorted(variables.items()))
        found["package-index"] = "".join(lines)
    certificates = [environment.get(name) for name in _CERTIFICATES]
    certificates.append(_pip_values(pip).get("cert"))
    uv_files = [environment.get("UV_CONFIG_FILE"), home / ".config/uv/uv.toml", "/etc/uv/uv.toml"]
    for secret, paths in (
        ("ca-bundle", certificates),
        ("uv-config", uv_files),
        ("netrc", [environment.get("NETRC"), home / ".netrc"]),
    ):
        if (text := _first_file(paths)) is not None:
            found[secret] = text
    return found


def _first_file(paths: Iterable[str | Path | None]) -> str | None:
    for path in paths:
        if path and (file := Path(path)).is_file():
            return file.read_text(encoding="utf-8")
    return None


def write_secrets(secrets: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """Secret → file below ``folder``, for its owner's eyes."""
    written = {}
    for name, text in secrets.items():
        path = folder / name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        written[name] = path
    return written
