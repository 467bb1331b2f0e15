"""Killed or interrupted at any moment, results are those of one run or of the other, whole."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from flipcost.cli import main
from tests.fuzz import tables
from tests.fuzz.oracles import Fault

RESULTS = ("report.html", "summary.json", "model.json", "suspects.csv")
TIMES = 100


@pytest.fixture
def place(tmp_path):
    """Return a folder with a table and the results of a first run in it, and those of a second."""
    (tmp_path / "a.csv").write_bytes(tables.csv_bytes(np.random.default_rng(7), damage=False)[0])
    assert main(command(tmp_path, 1, "second")) == 0
    began = time.monotonic()
    assert main(command(tmp_path, 0, "out")) == 0
    return tmp_path, time.monotonic() - began


def command(folder, seed, out):
    prices = ["--cost-fn", "5", "--cost-fp", "1", "--model", "linear", "--drop", "key", "--quiet"]
    options = [*prices, "--seed", str(seed), "--out", str(folder / out), "--overwrite"]
    return ["audit", str(folder / "a.csv"), "--target", "ill", *options]


def content(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS if (folder / name).exists()}


def in_a_fork(args, kind, delay):
    """Run a command in a copy of this process, which a signal meets after a while."""
    child = os.fork()
    if not child:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            code = main(args)
        finally:
            os._exit(code)
    time.sleep(delay)
    os.kill(child, kind)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forks of processes with threads
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT], ids=["kill", "interrupt"])
def test_results_are_of_one_run(place, kind):
    """A hundred times at random moments; what is left behind goes with the next run."""
    folder, seconds = place
    old, new = content(folder / "out"), content(folder / "second")
    assert old["summary.json"] != new["summary.json"]
    rng, ended = np.random.default_rng(0), set()
    for _ in range(TIMES):
        code = in_a_fork(command(folder, 1, "out"), kind, rng.uniform(0, 1.2 * seconds))
        ended.add(code)
        found = content(folder / "out")
        # The old manifest goes first and the new one comes last.
        if found not in (old, new) and "summary.json" in found:
            raise Fault("results of two runs, or of half a one")
        if found != old:
            assert main(command(folder, 0, "out")) == 0
            assert content(folder / "out") == old
    assert ended <= ({-9, 0} if kind == signal.SIGKILL else {2, 0})
    assert main(command(folder, 0, "out")) == 0
    left = {path.name for path in folder.iterdir()}
    assert left == {"a.csv", "out", "second"}


@pytest.mark.slow
def test_an_interrupt_while_importing_is_no_traceback(place):
    """From when Python has started, at any moment of the imports."""
    folder, _ = place
    rng = np.random.default_rng(1)
    for _ in range(TIMES // 4):
        args = [sys.executable, "-m", "flipcost", *command(folder, 1, "out")]
        with subprocess.Popen(args, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(rng.uniform(0.15, 2.0))
            process.send_signal(signal.SIGINT)
            error = process.communicate(timeout=60)[1]
        begun = "flipcost" in error or process.returncode in (0, 2)
        # Before our first line has run, Python answers for itself.
        assert not begun or "Traceback" not in error or "site" in error
