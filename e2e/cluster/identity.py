"""A serving certificate, the users' tokens, and kubeconfig files of a control plane."""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CONTROLLERS", "Identity", "make_identity"]

CONTROLLERS = "controllers"
"""Our name for the user that the controller manager is."""

USERS = {
    "admin": ("admin", "system:masters"),
    "operator": ("operator", ""),
    "plain": ("plain", ""),
    CONTROLLERS: ("system:kube-controller-manager", ""),
}
"""Names here, to names and groups in the cluster."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a control plane and its clients authenticate with; paths lie in its folder."""

    certificate: Path
    """PEM; of the server, signed by itself: clients trust it as their CA."""
    key: Path
    """PEM, RSA; also signs service accounts' tokens."""
    token_file: Path
    tokens: dict[str, str]
    kubeconfigs: dict[str, Path]


def make_identity(folder: Path, url: str) -> Identity:
    """Write certificate, key, tokens and kubeconfigs for the API server at ``url``.

    Raises:
        OSError: there is no ``openssl`` command.
    """
    certificate, key = folder / "server.crt", folder / "server.key"
    self_signed(certificate, key)
    tokens = {user: secrets.token_urlsafe(24) for user in USERS}
    token_file = folder / "tokens.csv"
    private(token_file, "".join(token_line(user, tokens[user]) for user in USERS))
    kubeconfigs = {user: folder / f"{user}.kubeconfig" for user in USERS}
    for user, path in kubeconfigs.items():
        private(path, kubeconfig(url, certificate, tokens[user]))
    return Identity(certificate, key, token_file, tokens, kubeconfigs)


def self_signed(certificate: Path, key: Path) -> None:
    """One RSA key and a certificate of it for the loopback (openssl 1.1.1 or newer)."""
    extensions = (
        "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc",
        "keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign",
        "extendedKeyUsage=serverAuth",
    )
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "30"]
    command += ["-subj", "/CN=kube-apiserver", "-keyout", str(key), "-out", str(certificate)]
    for extension in extensions:
        command += ["-addext", extension]
    subprocess.run(command, check=True, capture_output=True)


def token_line(user: str, token: str) -> str:
    """A line of the API server's token file: token, user, uid, groups."""
    name, groups = USERS[user]
    return f'{token},{name},{name},"{groups}"\n'


def kubeconfig(url: str, certificate: Path, token: str) -> str:
    """A kubeconfig of one cluster and one user (JSON is YAML)."""
    authority = base64.b64encode(certificate.read_bytes()).decode()
    cluster = {"server": url, "certificate-authority-data": authority}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": "tests", "user": {"token": token}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "current-context": "tests",
        }
    )


def private(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
