"""The command line: `flipcost audit`, `demo`, `predict`, `recheck`, `export` and others.

Exit code 0 is success; 2 is the user's mistake, answered in one line on standard error; 1 is ours.
"""

from flipcost.cli._app import app, main

__all__ = ["app", "main"]
