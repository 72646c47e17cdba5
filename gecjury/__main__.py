"""Run the command line as `python -m gecjury`."""

import sys

from gecjury.cli import main

sys.exit(main())
