"""``python -m e2e.cluster fetch``: have the programs; ``run``: a control plane until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys

from e2e.cluster.binaries import UnavailableError, find_binaries
from e2e.cluster.control_plane import ControlPlane


def main() -> int:
    """Run the command; 1 where no control plane can be had."""
    parser = argparse.ArgumentParser(prog="python -m e2e.cluster", description=__doc__)
    parser.add_argument("command", choices=["fetch", "run"])
    command = parser.parse_args().command
    try:
        binaries = find_binaries()
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{binaries.apiserver.parent}", file=sys.stderr)
    if command == "run":
        with ControlPlane(binaries) as running:
            print(f"export KUBECONFIG={running.kubeconfig()}", flush=True)
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


if __name__ == "__main__":
    sys.exit(main())
