"""etcd, kube-apiserver and kube-controller-manager of a test run."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from e2e.cluster import commands
from e2e.cluster.binaries import Binaries
from e2e.cluster.daemon import Daemon, free_port, wait_until
from e2e.cluster.identity import LOOPBACK, Identity, make_identity
from e2e.cluster.request import Answer, request

__all__ = ["ControlPlane", "NodeAccess", "Write"]


class Write(NamedTuple):
    """One request, as a rule one that asked for a change, as the API server's audit log tells it."""

    user: str
    verb: str
    """create, update, patch, delete or deletecollection; of reads: get, list or watch."""
    group: str
    """Of the API; "" for the core one."""
    resource: str
    """Plural, with the subresource: ``deployments``, ``ragbases/status``."""
    namespace: str
    name: str
    code: int
    """Of the response."""
    agent: str
    """The client's User-Agent."""


class NodeAccess(NamedTuple):
    """What a node and its pods need of a control plane."""

    address: str
    """Of the node: pods reach the API server there."""
    port: int
    """Of the API server."""
    names: tuple[str, ...]
    """Subject alternative names beyond the loopback's."""
    users: Mapping[str, tuple[str, str]]
    """The node's daemons: names here, to names and groups in the cluster."""


class ControlPlane:
    """Starts on entering, in a temporary folder; ends its own processes and no other.

    Users: ``admin`` (may do everything), ``operator`` and ``plain`` (no rights but those that a
    test grants to the user of that name).
    """

    def __init__(self, binaries: Binaries, node: NodeAccess | None = None) -> None:
        self.binaries = binaries
        self.folder = new_folder()
        self.port = node.port if node else free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        names = (*LOOPBACK, *node.names) if node else LOOPBACK
        users = node.users if node else None
        self.identity: Identity = make_identity(self.folder, self.url, names, users)
        self.ca_file = self.identity.certificate
        etcd_ports = (free_port(), free_port())
        self._etcd = Daemon(
            "etcd", commands.etcd(binaries.etcd, self.folder, etcd_ports), self.folder
        )
        self._apiserver = Daemon(
            "kube-apiserver",
            commands.apiserver(
                binaries.apiserver,
                self.folder,
                self.identity,
                (self.port, etcd_ports[0]),
                node.address if node else None,
            ),
            self.folder,
        )
        self._controllers = self._controller_manager()

    def _controller_manager(self) -> Daemon | None:
        program = self.binaries.controller_manager
        if program is None:
            return None
        command = commands.controller_manager(program, self.identity, free_port())
        return Daemon("kube-controller-manager", command, self.folder)

    @property
    def has_controllers(self) -> bool:
        """Whether garbage collection and the built-in controllers run."""
        return self._controllers is not None

    def token(self, user: str = "admin") -> str:
        """The bearer token of a user."""
        return self.identity.tokens[user]

    def kubeconfig(self, user: str = "admin") -> Path:
        """A kubeconfig file for a user."""
        return self.identity.kubeconfigs[user]

    def __enter__(self) -> ControlPlane:
        try:
            self._etcd.start()
            self.start_api_server()
            if self._controllers:
                self._controllers.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything and remove the folder."""
        for daemon in (self._controllers, self._apiserver, self._etcd):
            if daemon:
                daemon.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def pids(self) -> list[int]:
        """Process ids of what runs."""
        daemons = (self._etcd, self._apiserver, self._controllers)
        return [each.pid for each in daemons if each and each.pid is not None]

    def start_api_server(self, timeout_s: float = 60.0) -> None:
        """Start the API server, on the same port and data as before, and wait for readiness."""
        self._apiserver.start()
        wait_until(self.ready, timeout_s, self._apiserver)

    def stop_api_server(self) -> None:
        """End the API server alone; the data stay. It would wait for the watches of others."""
        self._apiserver.stop(timeout_s=2.0)

    def restart(self) -> None:
        """Stop and start the API server."""
        self.stop_api_server()
        self.start_api_server()

    def restart_controllers(self) -> None:
        """Stop and start the controller manager, if there is one.

        Its garbage collector learns of a new CRD at its start, or up to 30 s later.
        """
        if self._controllers:
            self._controllers.stop()
            self._controllers.start()

    def freeze(self) -> None:
        """The API server stops answering while its connections stay open: a silent cut."""
        self._apiserver.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """The end of `freeze`."""
        self._apiserver.signal(signal.SIGCONT)

    def ready(self) -> bool:
        """Whether the API server says that it is ready."""
        try:
            return self.request("GET", "/readyz").status == HTTPStatus.OK
        except OSError:
            return False

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "admin",
        content_type: str = "application/json",
    ) -> Answer:
        """One request as a user; ``path`` with the query, like ``/api/v1/namespaces``."""
        return request(self.url + path, self.ca_file, self.token(user), method, body, content_type)

    def create_namespace(self, labels: Mapping[str, str] | None = None) -> str:
        """A new namespace; its name."""
        name = f"test-{secrets.token_hex(5)}"
        metadata = {"name": name, "labels": dict(labels or {})}
        answer = self.request("POST", "/api/v1/namespaces", {"metadata": metadata})
        if answer.status != HTTPStatus.CREATED:
            raise RuntimeError(f"the namespace was refused: {answer.body}")
        return name

    def delete_namespace(self, name: str) -> None:
        """Begin to delete a namespace with all that is in it; returns at once."""
        self.request("DELETE", f"/api/v1/namespaces/{name}")

    def writes(self, user: str | None = None) -> Sequence[Write]:
        """All writes since the start, of one user or of all, in the order of their responses."""
        return [each for each in self.requests(user) if each.verb not in commands.READS]

    def requests(self, user: str | None = None) -> Sequence[Write]:
        """The same with the reads of `commands.WATCHED_ACCOUNT`; others' are not on record."""
        lines = (self.folder / "audit.log").read_text(encoding="utf-8").splitlines()
        found = (as_write(json.loads(line)) for line in lines if line.endswith("}"))
        return [each for each in found if user in (None, each.user)]


FOLDER = "ragbase-control-plane"


def new_folder() -> Path:
    """A temporary folder; those of runs that were killed are removed."""
    for old in Path(tempfile.gettempdir()).glob(f"{FOLDER}-*-*"):
        pid = old.name.split("-")[-2]
        if pid.isdigit() and not is_running(int(pid)):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{FOLDER}-{os.getpid()}-"))


def is_running(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def as_write(event: dict[str, Any]) -> Write:
    """A line of the audit log (audit.k8s.io/v1 Event)."""
    target = event.get("objectRef", {})
    resource = "/".join(filter(None, (target.get("resource"), target.get("subresource"))))
    return Write(
        user=event["user"]["username"],
        verb=str(event["verb"]),
        group=target.get("apiGroup", ""),
        resource=resource,
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=int(event.get("responseStatus", {}).get("code", 0)),
        agent=str(event.get("userAgent", "")),
    )
