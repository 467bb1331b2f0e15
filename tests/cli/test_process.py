"""The program as a process: signals within long steps, little room, what is no file."""

import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from flipcost.cli import main
from tests.fuzz import tables

AUDIT = ["--target", "ill", "--cost-fn", "5", "--cost-fp", "1", "--drop", "key", "--quiet"]
# A step in compiled code that answers no signal, of a program that is watched: it waits for a lock
# that it holds itself.
LONG_STEP = """
import ctypes, sys
import flipcost.__main__ as program
from flipcost._staging import signals_as_interrupts
program._GRACE = float(sys.argv[1])
program._watch_signals()
system, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(256)
system.pthread_mutex_init(lock, None)
system.pthread_mutex_lock(lock)
with signals_as_interrupts():
    print("begun", flush=True)
    system.pthread_mutex_lock(lock)
"""
# Signals, how long they may be left unanswered, and how many there are.
ENDS = [
    (kind, grace, signals)
    for kind in (signal.SIGTERM, signal.SIGINT)
    for grace, signals in ((1.0, 1), (50.0, 2))
]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")


def flipcost(*args, room=None, timeout=60):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (room << 20, room << 20))

    command = [sys.executable, "-m", "flipcost", *map(str, args)]
    before = None if room is None else limit
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, preexec_fn=before
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(tables.csv_bytes(np.random.default_rng(7), damage=False)[0])
    return path


def end_within_a_step(kind, grace, signals):
    """Return how a program ends that gets signals within a long step, what it says, and when."""
    args = [sys.executable, "-c", LONG_STEP, str(grace)]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        time.sleep(1.0)  # until it is within the step
        began = time.monotonic()
        for _ in range(signals):
            process.send_signal(kind)
            time.sleep(0.8)
        error = process.communicate(timeout=30)[1]
    return process.returncode, error, time.monotonic() - began


@pytest.fixture(scope="module")
def ends():
    """Return the ends of all such programs, which wait beside each other."""
    with ThreadPoolExecutor(len(ENDS)) as pool:
        return dict(zip(ENDS, pool.map(lambda end: end_within_a_step(*end), ENDS), strict=True))


@pytest.mark.parametrize(("kind", "grace", "signals"), ENDS)
def test_a_long_step_does_not_hold_the_end_off(ends, kind, grace, signals):
    """One signal ends it after a while, a second at once; a sentence says so."""
    code, error, seconds = ends[kind, grace, signals]
    assert seconds < 20
    assert code == -signal.SIGKILL
    assert error == b"flipcost: ended within a long step; the next run tidies up.\n"


def test_a_copy_keeps_its_signals_to_itself():
    """A worker that is told to end does not end the program."""
    code = """
import os, signal, time
import flipcost.__main__ as program
program._GRACE = 0.2
signal.signal(signal.SIGTERM, lambda *_: None)
program._watch_signals()
child = os.fork()
if not child:
    time.sleep(5)
    os._exit(0)
time.sleep(0.5)
os.kill(child, signal.SIGTERM)
time.sleep(1.0)
print("alive")
os.kill(child, signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"alive\n")


@pytest.mark.parametrize("room", [200, 500, 700])
def test_too_little_room_is_said_at_once(table, room):
    """Libraries that do not fit wait for ever or end the process: they are not loaded."""
    done = flipcost("audit", table, *AUDIT, "--out", table.parent / "out", room=room, timeout=20)
    assert done.returncode == 2
    assert done.stderr.startswith(f"flipcost: the address space is limited to {room} MB")
    assert done.stderr.count("\n") == 1
    assert flipcost("--version", room=room).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("room", [1000, 1500])
def test_little_room_is_enough(table, room):
    """Where the libraries fit, a small table does, too; a large one ends in a sentence."""
    out = table.parent / "out"
    assert flipcost("audit", table, *AUDIT, "--out", out, room=room).returncode == 0
    predict = ["predict", out / "model.json", table, "--quiet"]
    assert flipcost(*predict, "--out", out / "p.csv", room=room).returncode == 0
    rows = np.random.default_rng(0).normal(size=(40_000, 200)).round(3)
    large = table.parent / "large.csv"
    names = ",".join([*(f"c{k}" for k in range(200)), "ill"])
    label = np.where(rows[:, :1] > 0, 1, 0)
    np.savetxt(large, np.hstack([rows, label]), "%.3f", ",", header=names, comments="")
    more = ["--target", "ill", "--model", "linear", "--quiet", "--overwrite"]
    done = flipcost("audit", large, *more, "--out", out, room=room, timeout=120)
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 1


@pytest.mark.parametrize("place", ["/dev/zero", "pipe"])
@pytest.mark.parametrize("use", ["data", "test", "checked", "model", "predict"])
def test_what_has_no_end_is_not_waited_for(table, place, use, capsys):
    """Whatever it is given as; in this process, since nothing may block."""
    if place == "pipe":
        place = str(table.parent / "pipe")
        os.mkfifo(place)
    args = {
        "data": ["audit", place, *AUDIT],
        "test": ["audit", str(table), *AUDIT, "--test", place],
        "checked": ["audit", str(table), *AUDIT, "--checked", place],
        "model": ["audit", str(table), *AUDIT, "--model", place],
        "predict": ["predict", place, str(table)],
    }[use]
    assert main([*args, "--out", str(table.parent / "out.csv")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (table.parent / "out.csv").exists()
