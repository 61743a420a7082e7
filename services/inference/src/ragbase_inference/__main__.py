"""``python -m ragbase_inference``: the command line."""

import sys

from ragbase_inference.cli import main

sys.exit(main())
