"""The README's code does what it says."""

import doctest
from pathlib import Path


def test_the_readme_prints_what_it_says():
    """Every example of the README runs and prints what is shown."""
    path = Path(__file__).parent.parent / "README.md"
    results = doctest.testfile(str(path), module_relative=False)
    assert results.attempted >= 5
    assert results.failed == 0
