"""`python -m cepsql`: the command line."""

import sys

from cepsql.cli import main

sys.exit(main())
