"""A real Neo4j Community server of our own, out of jars that Maven fetches once.

It is a process, with its data in a folder, so that it can be killed and started again.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

__all__ = ["MissingProgramError", "Neo4jServer", "fetch_jars"]

CACHE = Path.home() / ".cache" / "ragbase" / "neo4j"
POM = Path(__file__).with_name("pom.xml")
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
FETCH_S = 600
START_S = 300
"""A minute is usual; a machine that does many other things takes longer."""
QUICK = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Java's options for a server that starts soon and lives a minute."""

CONFIG = """
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled=false
dbms.usage_report.enabled=false
server.memory.pagecache.size=64m
server.directories.data={home}/data
"""


class MissingProgramError(Exception):
    """Java or Maven is not on this machine."""


def fetch_jars() -> Path:
    """Folder of the jars; fetched where they are not cached (147 MB)."""
    version = re.findall(r"<version>([\d.]+)</version>", POM.read_text())[-1]
    lib = CACHE / version / "lib"
    if not lib.is_dir():
        _need("mvn")
        lib.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=lib.parent) as folder:
            part = Path(folder) / "lib"
            repository = Path(folder) / "repository"
            subprocess.run(
                [
                    *("mvn", "--batch-mode", "--quiet", f"--file={POM}", PLUGIN),
                    *(f"-DoutputDirectory={part}", f"-Dmaven.repo.local={repository}"),
                ],
                check=True,
                timeout=FETCH_S,
            )
            part.rename(lib)
    return lib


def _need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise MissingProgramError(f"{program} is not on the PATH")
    return found


class Neo4jServer:
    """``start`` and ``kill`` as often as you like; ``close`` at the end."""

    def __init__(self, options: Sequence[str] = QUICK) -> None:
        self._java = _need("java"), *options
        self._lib = fetch_jars()
        self._home = Path(tempfile.mkdtemp(prefix="ragbase-neo4j-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        (self._home / "conf").mkdir()
        config = CONFIG.format(port=self.port, home=self._home)
        (self._home / "conf" / "neo4j.conf").write_text(config)
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """What MEMGRAPH_URL would be."""
        return f"bolt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, and wait until it listens."""
        self._log = (self._home / "log").open("ab")
        self._process = subprocess.Popen(
            [
                *self._java,
                *("-cp", f"{self._lib}/*", "org.neo4j.server.CommunityEntryPoint"),
                *(f"--home-dir={self._home}", f"--config-dir={self._home / 'conf'}"),
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + START_S
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Neo4j did not start:\n{(self._home / 'log').read_text()}")
            time.sleep(0.1)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """As by power loss: SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def close(self) -> None:
        """End it and remove its data."""
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)
