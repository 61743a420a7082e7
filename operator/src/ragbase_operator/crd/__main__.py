"""``python -m ragbase_operator.crd``: write the generated files of a checkout, or check them."""

from __future__ import annotations

import sys

from ragbase_operator import generated
from ragbase_operator.crd.pages import stale, write

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0, or 1 where a file is out of date."""
    return generated.run(
        "ragbase_operator.crd",
        __doc__,
        "make crds",
        write=write,
        stale=stale,
        arguments=arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
