"""``python -m ragbase``: the command line."""

from ragbase.cli import main

main()
