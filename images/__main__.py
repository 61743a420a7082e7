"""``python3 -m images build`` and its relatives."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from images.archives import added_bytes
from images.catalogue import DEFAULT_IMAGES, IMAGES, ROOT, product_version
from images.engines import Build, Engine, archive_command, build_command, find_engine
from images.index_settings import machine_secrets, pip_configuration, write_secrets
from images.local_base import LOCAL_BASE, make_base
from images.sbom import write_sbom

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status: 0 done, 1 a build failed, 2 it cannot be done here."""
    options = _parser().parse_args(arguments)
    try:
        return _COMMANDS[options.command](options)
    except (ValueError, FileNotFoundError) as error:
        print(f"images: {error}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(f"images: {' '.join(map(str, error.cmd[:2]))} failed", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="images", description="Builds the container images.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("base", help=f"Make {LOCAL_BASE} of Debian's packages, without a registry.")
    build = commands.add_parser("build", help="Build images.")
    sbom = commands.add_parser("sbom", help="Write a CycloneDX file of each image's packages.")
    sizes = commands.add_parser("sizes", help="What archives add to the archive of their base.")
    for command in (build, sbom):
        command.add_argument("names", nargs="*", help=f"Of {', '.join(IMAGES)}.")
        command.add_argument("--engine", help="docker, podman or buildah; else what works here.")
        command.add_argument("--registry", default="localhost", help="In front of the names.")
        command.add_argument("--base-image", help="Instead of the Dockerfiles' BASE_IMAGE.")
    build.add_argument("--build-arg", action="append", default=[], help="NAME=VALUE")
    build.add_argument("--archives", type=Path, help="Write OCI archives to this folder.")
    sbom.add_argument("--output", type=Path, default=Path("dist/sbom"), help="Folder.")
    sizes.add_argument("base", type=Path)
    sizes.add_argument("archives", type=Path, nargs="+")
    return parser


def _engine(options: argparse.Namespace) -> Engine:
    engine = find_engine(options.engine or os.environ.get("RAGBASE_ENGINE") or None)
    if engine is None:
        raise ValueError("there is no Docker that runs, no Podman and no Buildah")
    return engine


def _chosen(names: Iterable[str]) -> list[str]:
    chosen = list(names) or list(DEFAULT_IMAGES)
    if unknown := [name for name in chosen if name not in IMAGES]:
        raise ValueError(f"{', '.join(unknown)}: there are {', '.join(IMAGES)}")
    return chosen


def _base(_: argparse.Namespace) -> int:
    make_base()
    print(LOCAL_BASE)
    return 0


def _build(options: argparse.Namespace) -> int:
    engine = _engine(options)
    version = product_version()
    arguments = dict(pair.split("=", 1) for pair in options.build_arg)
    arguments |= {"VERSION": version, "REVISION": _revision()}
    if options.base_image:
        arguments["BASE_IMAGE"] = options.base_image
    with tempfile.TemporaryDirectory(prefix="ragbase-images-") as folder:
        found = machine_secrets(os.environ, pip_configuration(), Path.home())
        secrets = write_secrets(found, Path(folder))
        for name in _chosen(options.names):
            image = IMAGES[name]
            reference = image.reference(options.registry, version)
            build = Build(reference, image.dockerfile, ROOT, arguments, secrets)
            subprocess.run(build_command(engine, build), check=True, cwd=ROOT)
            print(f"built {reference}")
            if options.archives:
                _archive(engine, reference, options.archives)
    if options.archives and options.base_image:
        _archive(engine, options.base_image, options.archives)
    return 0


def _archive(engine: Engine, reference: str, folder: Path) -> None:
    """``localhost/ragbase-api:0.1.0`` becomes ``ragbase-api_0.1.0.tar``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{reference.rpartition('/')[2].replace(':', '_')}.tar"
    path.unlink(missing_ok=True)
    subprocess.run(archive_command(engine, reference, path), check=True)
    print(f"wrote {path}")


def _revision() -> str:
    """The commit that is checked out; ``unknown`` outside of a checkout."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _sbom(options: argparse.Namespace) -> int:
    engine = _engine(options)
    for name in _chosen(options.names):
        reference = IMAGES[name].reference(options.registry, product_version())
        path = options.output / f"{name}.cdx.json"
        write_sbom(engine, reference, path, base_image=options.base_image)
        print(f"wrote {path}")
    return 0


def _sizes(options: argparse.Namespace) -> int:
    for archive in options.archives:
        print(f"{archive.stem}: {added_bytes(archive, options.base) / 1e6:.1f} MB")
    return 0


_COMMANDS = {"base": _base, "build": _build, "sbom": _sbom, "sizes": _sizes}

if __name__ == "__main__":
    sys.exit(main())
