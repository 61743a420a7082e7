"""``python -m ragbase_operator.rbac [--namespaced]``: the rules of the operator's role, as YAML.

What it prints is the value of ``rules`` in a ClusterRole or, with ``--namespaced``, in a Role in
each namespace that is looked after. The chart's roles are copied from it, so that rights are
written down once.
"""

from __future__ import annotations

import argparse
import sys

import yaml

from ragbase_operator.rbac.rules import rules


def main() -> int:
    """Print them; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m ragbase_operator.rbac",
        description="Print the rules of the operator's role as YAML.",
    )
    parser.add_argument(
        "--namespaced",
        action="store_true",
        help="those of a Role in each namespace, not of a ClusterRole",
    )
    namespaced = parser.parse_args().namespaced
    sys.stdout.write(yaml.safe_dump(rules(namespaced=namespaced), sort_keys=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
