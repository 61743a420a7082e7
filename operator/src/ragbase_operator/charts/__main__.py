"""``python -m ragbase_operator.charts``: write the generated files of the charts, or check them."""

from __future__ import annotations

import sys

from ragbase_operator import generated
from ragbase_operator.charts.pages import stale, write

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0, or 1 where a file is out of date."""
    return generated.run(
        "ragbase_operator.charts",
        __doc__,
        "make charts",
        write=write,
        stale=stale,
        arguments=arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
