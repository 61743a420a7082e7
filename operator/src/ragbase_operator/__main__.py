"""``python -m ragbase_operator``."""

import sys

from ragbase_operator.cli import main

sys.exit(main())
