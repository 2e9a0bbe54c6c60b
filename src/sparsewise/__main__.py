"""``python -m sparsewise`` is the command ``sparsewise``."""

import sys

from sparsewise.cli import main

sys.exit(main())
