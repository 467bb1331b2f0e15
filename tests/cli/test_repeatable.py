"""The same rows, options and seed give the same bytes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from flipcost.cli import main
from tests.fuzz import tables

RESULTS = ("report.html", "summary.json", "model.json", "suspects.csv")
OPTIONS = ["--target", "ill", "--cost-fn", "5", "--cost-fp", "1", "--drop", "key", "--quiet"]


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "a.csv"
    place.write_bytes(tables.csv_bytes(np.random.default_rng(7), damage=False)[0])
    return place


def content(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


def test_an_audit_is_repeatable(path, tmp_path):
    """Also the model, whose parts skops names by their places in memory."""
    for name in ("one", "two"):
        options = [*OPTIONS, "--model", "linear", "--out", str(tmp_path / name)]
        assert main(["audit", str(path), *options]) == 0
    assert content(tmp_path / "one") == content(tmp_path / "two")


@pytest.mark.slow
def test_hash_seeds_and_threads_change_nothing(path, tmp_path):
    """In processes of their own, boosting included."""
    for name, seed, threads in (("one", "1", "1"), ("two", "2", "2")):
        options = [*OPTIONS, "--out", str(tmp_path / name)]
        known = {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(
            [sys.executable, "-m", "flipcost", "audit", str(path), *options],
            env=os.environ | known,
            check=True,
        )
    assert content(tmp_path / "one") == content(tmp_path / "two")
