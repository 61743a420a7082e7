"""``python -m e2e.stand_ins``: build all images of the scenarios and say what they are."""

from __future__ import annotations

import sys

from e2e.node import packages
from e2e.stand_ins import catalogue


def main() -> int:
    """Build; 1 where that fails."""
    try:
        packages.have(packages.IMAGES)
        catalogue.build()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    for reference in catalogue.ours():
        print(f"{reference}  (the product's own)")
    for each in catalogue.STAND_INS:
        print(f"{each.reference}  stands in for {each.stands_for}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
