"""``start`` a node that stays, ``stop`` it, tell its ``status``; ``run`` one until Ctrl-C;
``load`` images into it."""

from __future__ import annotations

import argparse
import sys

from e2e.cluster.binaries import UnavailableError
from e2e.node import host, images, packages
from e2e.node.addresses import HOME
from e2e.node.programs import node_programs


def main() -> int:
    """Run a command; 1 where it fails, and for the status of no node."""
    parser = argparse.ArgumentParser(prog="python -m e2e.node", description=__doc__)
    parser.add_argument("command", choices=[*COMMANDS, "load"])
    parser.add_argument("images", nargs="*", help="for load: images of buildah's store")
    arguments = parser.parse_args()
    try:
        if arguments.command == "load":
            return load(arguments.images)
        return COMMANDS[arguments.command]()
    except (RuntimeError, UnavailableError) as error:
        print(error, file=sys.stderr)
        return 1


def start() -> int:
    """Have everything, start, say how to reach it."""
    prepare()
    host.start()
    return status()


def run() -> int:
    """The node until SIGTERM."""
    prepare()
    return host.hold()


def prepare() -> None:
    """What the machine lacks is fetched, built or installed, and that is said."""
    packages.have(packages.NODE)
    node_programs()


def load(references: list[str]) -> int:
    """Bring images into the node."""
    for reference in references:
        done = "loaded" if images.load(reference, host.enter(), HOME) else "is there"
        print(f"{reference}: {done}", flush=True)
    return 0


def stop() -> int:
    """Stop; fine if there is none."""
    print("stopped" if host.stop() else "no node runs")
    return 0


def status() -> int:
    """The way to a node, if one is ready."""
    pid = host.status()
    if pid is None:
        print("no node runs")
        return 1
    print(f"held by process {pid}; logs in {HOME / 'state'}")
    print(f"export KUBECONFIG={host.kubeconfig()}")
    print(f"inside: {' '.join(host.enter())} COMMAND")
    return 0


COMMANDS = {"start": start, "stop": stop, "status": status, "run": run}

if __name__ == "__main__":
    sys.exit(main())
