"""`python -m flipcost`: the command line."""

import sys

from flipcost.cli import main

if __name__ == "__main__":
    sys.exit(main())
