"""`python -m flipcost`, and what the program `flipcost` runs: the command line."""

import os
import signal
import sys
from typing import Any


def run() -> int:
    """Run the command line; an interrupt while it is being imported is no traceback either."""
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, _leave)
    from flipcost.cli import main  # noqa: PLC0415 - not before an interrupt can be answered

    return main()


def _leave(*_: Any) -> None:
    os.write(2, b"flipcost: interrupted.\n")
    os._exit(2)


if __name__ == "__main__":
    sys.exit(run())
