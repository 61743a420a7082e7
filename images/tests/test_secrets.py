"""A build takes the machine's package index and leaves no trace of it."""

from __future__ import annotations

import base64
import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from packaging.utils import canonicalize_name, parse_wheel_filename

from images.archives import whole_text
from images.catalogue import DEFAULT_IMAGES, IMAGES, ROOT
from images.engines import Build, archive_command, build_command, find_engine
from images.index_settings import index_variables, machine_secrets, pip_configuration, write_secrets
from images.local_base import LOCAL_BASE
from images.tests.conftest import cannot

USER, WORD = "canary-user", "canary-word"
REFERENCE = "localhost/ragbase-canary:1"
PUBLIC = {"pypi.org", "files.pythonhosted.org", "download.pytorch.org"}
"""Named by the descriptions of the packages themselves."""


@dataclass
class Index:
    """A package index of this machine, and who asked it."""

    port: int
    asked: list[str | None] = field(default_factory=list)


class _Handler(SimpleHTTPRequestHandler):
    """A folder a package is what pip and uv call an index."""

    index: Index

    def do_GET(self) -> None:
        self.index.asked.append(self.headers.get("Authorization"))
        super().do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing: the test's output is the test's."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Serves the wheels of the operator's image, and of uv, on 127.0.0.1."""
    folder = tmp_path_factory.mktemp("index")
    for lock in ("operator", "uv"):
        requirements = str(ROOT / f"requirements/{lock}.txt")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--require-hashes", "--requirement", requirements]
        subprocess.run([*command, "--dest", str(folder)], check=True)
    for wheel in list(folder.glob("*.whl")):
        name, *_ = parse_wheel_filename(wheel.name)
        (folder / "simple" / canonicalize_name(name)).mkdir(parents=True, exist_ok=True)
        wheel.rename(folder / "simple" / canonicalize_name(name) / wheel.name)
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=str(folder))
    )
    handler.index = Index(server.server_port)  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield handler.index  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_image_is_built_from_the_machines_index_and_names_it_nowhere(index, tmp_path):
    engine = find_engine(os.environ.get("RAGBASE_ENGINE"))
    base = subprocess.run(
        ["buildah", "inspect", "--type", "image", LOCAL_BASE], capture_output=True, check=False
    )
    if engine != "buildah" or base.returncode != 0:
        cannot("needs Buildah and the base that `python -m images base` makes")
    url = f"http://{USER}:{WORD}@127.0.0.1:{index.port}/simple"  # pragma: allowlist secret
    secrets = machine_secrets({"PIP_INDEX_URL": url}, "", tmp_path)
    (folder := tmp_path / "secrets").mkdir()
    build = Build(
        REFERENCE,
        IMAGES["operator"].dockerfile,
        ROOT,
        {"BASE_IMAGE": LOCAL_BASE},
        write_secrets(secrets, folder),
        fresh=True,
    )
    archive = tmp_path / "canary.tar"
    try:
        subprocess.run(build_command(engine, build), check=True, stdout=subprocess.DEVNULL)
        subprocess.run(archive_command(engine, REFERENCE, archive), check=True)
    finally:
        subprocess.run(["buildah", "rmi", "--force", REFERENCE], check=False, capture_output=True)
    login = base64.b64encode(f"{USER}:{WORD}".encode()).decode()
    assert f"Basic {login}" in index.asked
    assert len(index.asked) > 20
    for trace in (USER, WORD, f"127.0.0.1:{index.port}", login):
        assert not holders(archive, trace), trace


def holders(archive: Path, trace: str) -> list[str]:
    """The blobs in which a text is found."""
    return [name for name, content in whole_text(archive) if trace.encode() in content]


@pytest.mark.parametrize("name", DEFAULT_IMAGES)
def test_no_index_of_this_machine_is_in_an_image_that_was_built_here(archive, name):
    traces: set[str] = set()
    for value in index_variables(os.environ, pip_configuration()).values():
        for word in value.split():
            parts = urlsplit(word)
            traces |= {part for part in (parts.hostname, parts.username, parts.password) if part}
    traces -= PUBLIC
    if not traces:
        pytest.skip("this machine names no index; the test above brings one")
    found = sum(bool(holders(archive(name), trace)) for trace in traces)
    assert found == 0  # which ones is not for a log
