"""Interrupts that compiled code loses are not lost."""

import contextlib
import os
import signal

import pytest

from flipcost._staging import signals_as_interrupts, staged_folder, stop_if_interrupted


def lose_an_interrupt(kind):
    """Have a signal arrive where its exception goes nowhere, as in a callback from C."""
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), kind)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_lost_interrupt_stops_before_files_move(kind, tmp_path):
    """Nothing is written although the work went on to its end."""

    def work():
        with signals_as_interrupts(), staged_folder(tmp_path / "out") as place:
            lose_an_interrupt(kind)
            (place / "a.txt").write_text("done")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_forgotten_afterwards():
    """The next command starts anew."""
    with signals_as_interrupts():
        lose_an_interrupt(signal.SIGINT)
    stop_if_interrupted()


def test_other_errors_after_an_interrupt_are_the_interrupt():
    """Compiled code may call it by another name."""

    def fail():
        lose_an_interrupt(signal.SIGINT)
        msg = "something from C"
        raise SystemError(msg)

    with pytest.raises(KeyboardInterrupt), signals_as_interrupts():
        fail()
