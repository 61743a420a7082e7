"""Runs images as Kubernetes does: an archive unpacked, and runc with a restricted pod's rights.

User 10001, no capability, no new privileges, a read-only root; what can be written is listed. The
network is the host's, so that tests reach 127.0.0.1.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from images.archives import configuration, layer_stream, layers

__all__ = ["RUNC", "Unpacked", "unpack"]

RUNC = shutil.which("runc")
USER = 10001
_TMPFS = ["nosuid", "nodev", "size=512m"]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """An image's file system in a folder, and its configuration."""

    root: Path
    config: Mapping[str, Any]
    state: Path
    running: list[str] = field(default_factory=list)

    def run(self, *args: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run the image's entrypoint with ``args`` to its end; ``more`` as in `start`."""
        with self.start(*args, **more) as process:
            out, err = process.communicate(timeout=180)
            return subprocess.CompletedProcess(args, process.returncode, out, err)

    @contextmanager
    def start(
        self,
        *args: str,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] | None = None,
        writable: Mapping[str, Path | None] | None = None,
    ) -> Iterator[subprocess.Popen[str]]:
        """Run it for as long as the context lasts, then end it by SIGTERM.

        ``writable``: path → folder of the host, or None for a volume in memory; ``/tmp`` is one.
        """
        name = f"ragbase-test-{uuid.uuid4().hex[:12]}"
        command = [*(program or self.config["Entrypoint"]), *args]
        with tempfile.TemporaryDirectory(prefix="ragbase-bundle-") as bundle:
            spec = self._spec(command, env or {}, {"/tmp": None, **(writable or {})})
            (Path(bundle) / "config.json").write_text(json.dumps(spec))
            runc = ["runc", "--root", str(self.state)]
            process = subprocess.Popen(
                [*runc, "run", "--bundle", bundle, name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.terminate()
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    subprocess.run([*runc, "kill", name, "KILL"], check=False)
                    process.wait(30)
                for pipe in (process.stdout, process.stderr):
                    if pipe is not None:
                        pipe.close()

    def _spec(
        self, command: list[str], env: Mapping[str, str], writable: Mapping[str, Path | None]
    ) -> dict[str, Any]:
        variables = dict(pair.split("=", 1) for pair in self.config["Env"]) | dict(env)
        uid, gid = map(int, self.config["User"].split(":"))
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            _memory("/dev", ["nosuid", "mode=755"]),
            _memory("/dev/shm", ["nosuid", "noexec", "mode=1777", "size=64m"]),
        ]
        for path, folder in writable.items():
            if folder is None:
                # runc gives a volume in memory the mode of the folder below it, not its owner.
                mounts.append(_memory(path, [*_TMPFS, f"uid={uid}", f"gid={gid}"]))
            else:
                options = ["rbind", "rw"]
                mounts.append(
                    {"destination": path, "type": "bind", "source": str(folder), "options": options}
                )
        return {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": uid, "gid": gid},
                "args": command,
                "env": [f"{name}={value}" for name, value in variables.items()],
                "cwd": self.config["WorkingDir"],
                "capabilities": {},
                "noNewPrivileges": True,
            },
            "root": {"path": str(self.root), "readonly": True},
            "mounts": mounts,
            "linux": {
                "namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount", "uts")],
            },
        }


def _memory(path: str, options: list[str]) -> dict[str, Any]:
    return {"destination": path, "type": "tmpfs", "source": "tmpfs", "options": options}


def unpack(archive: Path, folder: Path) -> Unpacked:
    """Unpack an image below ``folder``; as root, so that files keep their owners."""
    root = folder / "root"
    root.mkdir(parents=True)
    for layer in layers(archive):
        with tarfile.open(fileobj=BytesIO(layer_stream(archive, layer))) as content:
            content.extractall(root, filter="fully_trusted", numeric_owner=True)
    root.chmod(0o755)
    return Unpacked(root, configuration(archive)["config"], folder / "state")
