"""`python -m flipcost`, and what the program `flipcost` runs: the command line.

What must be settled before anything large is imported: what signals do, and whether there is room.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import time
from typing import Any

# Seconds that an interrupted command may take to clean up, and that a second signal must come after
# the first to be meant as one.
_GRACE, _AGAIN = 10.0, 0.5
# Bytes of address space that the libraries take together, one thread each, with some rows; and from
# which on nothing needs to be saved.
_LEAST_ROOM, _MUCH_ROOM = 900 << 20, 8 << 30
_THRIFTY = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_LIGHT = {"--help", "--version"}
# New objects after which garbage is looked for, in place of 700: what the libraries make when they
# are imported stays, and looking through it took 0.2 s.
_NEW_OBJECTS = 10_000


def run() -> int:
    """Run the command line; an interrupt while it is being imported is no traceback either."""
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, _leave)
    if len(sys.argv) > 1 and not _LIGHT & set(sys.argv):
        if not _has_room():
            return 2
        _watch_signals()
    gc.set_threshold(_NEW_OBJECTS)
    from flipcost.cli import main  # noqa: PLC0415 - not before an interrupt can be answered

    code = main()
    gc.disable()  # the process ends, and lets go of all that it holds anyway
    return code


def _leave(*_: Any) -> None:
    os.write(2, b"flipcost: interrupted.\n")
    os._exit(2)


def _has_room() -> bool:
    """Tell whether the libraries fit into the address space; have them take less if it is small.

    Where it is too small for them, some wait for ever, and some end the process.
    """
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return True
    room = resource.getrlimit(resource.RLIMIT_AS)[0]
    if room in (resource.RLIM_INFINITY, -1) or room >= _MUCH_ROOM:
        return True
    if room < _LEAST_ROOM:
        said = (
            f"flipcost: the address space is limited to {room >> 20:,} MB, and at least "
            f"{_LEAST_ROOM >> 20:,} MB are needed; raise the limit (ulimit -v).\n"
        )
        os.write(2, said.encode())
        return False
    for name, value in _THRIFTY.items():
        os.environ.setdefault(name, value)
    return True


def _watch_signals() -> None:
    """Have a small process end this one if it does not answer a signal itself.

    Python answers between steps of its own, and a step in compiled code can take minutes. The
    watcher learns of signals when they arrive. What a killed writer leaves behind is cleared away
    by the next one, and no result is ever half in its place.
    """
    if not hasattr(os, "fork"):
        return
    reader, writer = os.pipe()
    watched = os.getpid()
    try:
        child = os.fork()
    except OSError:  # no more processes: signals are answered all the same, if late
        os.close(reader)
        os.close(writer)
        return
    if not child:
        os.close(writer)
        try:
            _watch(reader, watched)
        finally:
            os._exit(0)
    os.close(reader)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: _part(writer))


def _part(writer: int) -> None:
    """Have a copy of this process keep its signals to itself."""
    signal.set_wakeup_fd(-1)
    with contextlib.suppress(OSError):
        os.close(writer)


def _watch(reader: int, watched: int) -> None:
    """Wait for signals of a process that holds the other end, and for its end."""
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.SIG_IGN)
    _let_go(reader)
    first: float | None = None
    while True:
        left = None if first is None else max(0.0, first + _GRACE - time.monotonic())
        ready = select.select([reader], [], [], left)[0]
        came = os.read(reader, 64) if ready else b""
        if ready and not came:
            return  # it has ended
        now = time.monotonic()
        if not ready or (first is not None and now - first > _AGAIN and _is_end(came)):
            if os.getppid() == watched:
                os.write(2, b"flipcost: ended within a long step; the next run tidies up.\n")
                os.kill(watched, signal.SIGKILL)
            return
        if first is None and _is_end(came):
            first = now


def _let_go(kept: int) -> None:
    """Close what whoever started us may be waiting for the end of, but for what errors go to."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers, not paths
            if int(name) not in (kept, 2):
                with contextlib.suppress(OSError):
                    os.close(int(name))


def _is_end(came: bytes) -> bool:
    return any(number in (signal.SIGINT, signal.SIGTERM) for number in came)


if __name__ == "__main__":
    sys.exit(run())
