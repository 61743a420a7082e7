"""A serving certificate, the users' tokens, and kubeconfig files of a control plane."""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CONTROLLERS", "LOOPBACK", "Identity", "make_identity"]

CONTROLLERS = "controllers"
"""Our name for the user that the controller manager is."""

USERS = {
    "admin": ("admin", "system:masters"),
    "operator": ("operator", ""),
    "plain": ("plain", ""),
    CONTROLLERS: ("system:kube-controller-manager", ""),
}
"""Names here, to names and groups in the cluster."""

LOOPBACK = ("IP:127.0.0.1", "DNS:localhost", "DNS:kubernetes.default.svc")
"""Names of a server that nobody else reaches."""


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


def make_identity(
    folder: Path,
    url: str,
    names: Sequence[str] = LOOPBACK,
    more_users: Mapping[str, tuple[str, str]] | None = None,
) -> Identity:
    """Write certificate, key, tokens and kubeconfigs for the API server at ``url``.

    ``names`` are the certificate's subject alternative names; ``more_users`` like `USERS`.

    Raises:
        OSError: there is no ``openssl`` command.
    """
    certificate, key = folder / "server.crt", folder / "server.key"
    self_signed(certificate, key, names)
    users = {**USERS, **(more_users or {})}
    tokens = {user: secrets.token_urlsafe(24) for user in users}
    token_file = folder / "tokens.csv"
    lines = (token_line(tokens[user], *users[user]) for user in users)
    private(token_file, "".join(lines))
    kubeconfigs = {user: folder / f"{user}.kubeconfig" for user in users}
    for user, path in kubeconfigs.items():
        private(path, kubeconfig(url, certificate, tokens[user]))
    return Identity(certificate, key, token_file, tokens, kubeconfigs)


def self_signed(certificate: Path, key: Path, names: Sequence[str]) -> None:
    """One RSA key and a certificate of it (openssl 1.1.1 or newer).

    The API server shows it to clients, and to a kubelet as its client.
    """
    extensions = (
        f"subjectAltName={','.join(names)}",
        "keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign",
        "extendedKeyUsage=serverAuth,clientAuth",
    )
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "30"]
    command += ["-subj", "/CN=kube-apiserver", "-keyout", str(key), "-out", str(certificate)]
    for extension in extensions:
        command += ["-addext", extension]
    subprocess.run(command, check=True, capture_output=True)


def token_line(token: str, name: str, groups: str) -> str:
    """A line of the API server's token file: token, user, uid, groups."""
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
