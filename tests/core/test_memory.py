"""The one limit of memory."""

import pytest

from flipcost.core import system as memory
from flipcost.core.moments import ClassMoments


@pytest.fixture
def group_limit(tmp_path, monkeypatch):
    """Return a file that represents the limit of a control group."""
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_GROUP_LIMITS", (str(limit), str(tmp_path / "none")))
    return limit


def test_a_container_has_the_memory_of_its_group(group_limit):
    """The limit of a control group counts where it is less than the machine's memory."""
    whole = memory.usable_memory()
    group_limit.write_text("1000000\n")
    assert memory.usable_memory() == 1e6
    group_limit.write_text("max\n")
    assert memory.usable_memory() == whole


def test_moments_are_held_against_the_limit_of_the_group(group_limit):
    """More features than fit into the container are refused, whatever the machine has."""
    group_limit.write_text(f"{1 << 30}\n")
    with pytest.raises(ValueError, match=r"may use 1 GB.*at most 5792"):
        ClassMoments.zeros(6000)
