"""Runs that are killed, resumed, shared between processes; verdicts and pages."""

import csv
import math
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from flipcost.datasets import load_paper_tables
from flipcost.exceptions import ExperimentError
from flipcost.paper.experiments import TABLES, reproduce
from flipcost.paper.experiments import run as experiments_run
from flipcost.paper.experiments.results import (
    DIFFERS,
    IMPOSSIBLE,
    NOT_GIVEN,
    WITHIN,
    errata_of,
    is_impossible,
    summarize,
    verdict,
)
from flipcost.paper.experiments.run import FILE, UnitStore, needed_units

SMALL = ["cost_clean_all_case2_BUPA", "cost_clean_all_case3_syn2"]
PAGES = ["results.csv", "summary.csv", "report.html", "tables.md"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a small run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    return reproduce(SMALL, trials=3, out=folder, progress=False)


def texts(folder):
    return {name: (folder / name).read_text(encoding="utf-8") for name in PAGES}


def test_cells_and_tables_are_all_there():
    """The registry knows the 23 printed tables, and every cell has units behind it."""
    cells = load_paper_tables()
    assert {cell["table"] for cell in cells} == set(TABLES)
    assert len(TABLES) == 23
    for name in TABLES:
        assert needed_units([name], 1)


@pytest.mark.slow
def test_processes_do_not_change_the_results(whole, tmp_path):
    """Two processes write the files that one writes, byte for byte."""
    reproduce(SMALL, trials=3, jobs=2, out=tmp_path, progress=False)
    assert texts(tmp_path) == texts(whole.folder)


def test_a_cut_line_is_dropped_and_run_again(whole, tmp_path, monkeypatch):
    """Units kept whole are kept, the one cut short is run again, and all files are the same."""
    lines = (whole.folder / FILE).read_text().splitlines(keepends=True)
    (tmp_path / FILE).write_text("".join(lines[:9]) + lines[9][:40])
    (tmp_path / "whole_lines").mkdir()
    (tmp_path / "whole_lines" / FILE).write_text("".join(lines[:9]))
    store = UnitStore(tmp_path / "whole_lines", 0, resume=True)
    store.close()
    kept, ran = set(store.records), []
    run_units = experiments_run.run_units
    monkeypatch.setattr(
        experiments_run,
        "run_units",
        lambda units, *rest, **options: ran.extend(units) or run_units(units, *rest, **options),
    )
    reproduce(SMALL, trials=3, out=tmp_path, resume=True, progress=False)
    assert len(kept) >= 8
    assert {unit.key for unit in ran} == {unit.key for unit in needed_units(SMALL, 3)} - kept
    assert texts(tmp_path) == texts(whole.folder)


def test_a_run_can_be_extended(whole, tmp_path):
    """One trial, resumed with three, gives what three trials at once give."""
    reproduce(SMALL[:1], trials=1, out=tmp_path, progress=False)
    reproduce(SMALL, trials=3, out=tmp_path, resume=True, progress=False)
    assert texts(tmp_path) == texts(whole.folder)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_resumes_to_the_same_results(tmp_path, jobs):
    """After kill -9 in the middle, resuming writes what an undisturbed run writes."""
    code = (
        "from flipcost.paper.experiments import reproduce\n"
        "if __name__ == '__main__':\n"
        f"    reproduce({[*SMALL, 'syn_cost_bayes']!r}, trials=12, jobs={jobs}, "
        f"out={str(tmp_path / 'killed')!r}, progress=False)\n"
    )
    script = tmp_path / "run.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, str(script)])
    units = tmp_path / "killed" / FILE
    deadline = time.monotonic() + 60
    while not (units.exists() and units.read_bytes().count(b"\n") > 8):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    tables = [*SMALL, "syn_cost_bayes"]
    assert units.read_bytes().count(b"\n") < len(needed_units(tables, 12))
    reproduce(tables, trials=12, out=tmp_path / "killed", resume=True, progress=False)
    reproduce(tables, trials=12, out=tmp_path / "calm", progress=False)
    assert texts(tmp_path / "killed") == texts(tmp_path / "calm")


def test_another_seed_is_not_resumed(whole, tmp_path):
    """Units of another seed are refused, and left alone."""
    before = (whole.folder / FILE).read_bytes()
    with pytest.raises(ExperimentError, match="same seed and version"):
        reproduce(SMALL, trials=3, seed=1, out=whole.folder, resume=True, progress=False)
    assert (whole.folder / FILE).read_bytes() == before


def test_an_earlier_run_is_not_thrown_away(whole):
    """Without resume, a folder with finished units is refused."""
    with pytest.raises(ExperimentError, match="resume it"):
        reproduce(SMALL, trials=3, out=whole.folder, progress=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tables": ["cost_clean_all_case2"]}, "Did you mean 'cost_clean_all_case2_BUPA'"),
        ({"trials": 0}, "`trials` must be 1 or more"),
        ({"jobs": 0}, "`jobs` must be 1 or more"),
        ({"seed": -1}, "`seed` must be 0 or more"),
    ],
)
def test_mistakes_are_explained(tmp_path, given, message):
    """A wrong table or number is refused before anything is written."""
    with pytest.raises(ExperimentError, match=re.escape(message)):
        reproduce(**{"tables": SMALL, "out": tmp_path / "out", "progress": False, **given})
    assert not (tmp_path / "out").exists()


def test_the_store_keeps_units_through_a_new_start(tmp_path):
    """What was added is there when the store is opened again."""
    store = UnitStore(tmp_path, 0)
    store.add("a/0", [{"value": 0.1 + 0.2}])
    store.close()
    again = UnitStore(tmp_path, 0, resume=True)
    again.close()
    assert again.records == {"a/0": [{"value": 0.1 + 0.2}]}


def test_results_have_a_row_for_each_reading_of_each_cell(whole):
    """Every printed cell is there with one reading that it is compared with."""
    rows = list(csv.DictReader((whole.folder / "results.csv").read_text().splitlines()))
    assert len(rows) == len(whole.rows)
    compared = [row for row in rows if row["parity"] == "yes"]
    cells = [cell for cell in load_paper_tables() if cell["table"] in SMALL]
    assert len(compared) == len(cells)
    assert [float(row["paper_mean"]) for row in compared] == [cell["mean"] for cell in cells]
    assert {row["trials"] for row in rows} == {"3"}
    for row, ours in zip(rows, whole.rows, strict=True):
        assert float(row["mean"]) == ours["mean"]


def test_noisy_tables_have_our_columns_and_the_constants(tmp_path):
    """Beside a printed cost stand the user's cost, the constants, and our two columns."""
    found = reproduce(["Re-sq-ERM-Bupa"], trials=1, out=tmp_path, progress=False)
    extra = {(r["method"], r["measure"]) for r in found.rows if not r["verdict"]}
    methods = {"usq_regerm", "flipcost", "all_positive", "all_negative"}
    assert {(m, k) for m in methods for k in ("Acc", "AM", "F", "WC", "WC1")} <= extra
    assert ("lkfun_sq", "WC1") in extra
    impossible = [r for r in found.rows if r["verdict"] == IMPOSSIBLE]
    assert {(r["rho"], r["gamma"], r["measure"]) for r in impossible} == {(0.1, 1.0, "Acc")}


def cell(mean, std, measure="Acc"):
    return {
        "table": "Ac_measure_cost",
        "dataset": "pima",
        "rho": 0.2,
        "method": "lspc",
        "measure": measure,
        "mean": mean,
        "std": std,
    }


@pytest.mark.parametrize(
    ("printed", "ours", "expected"),
    [
        (cell(0.7, 0.05), (0.74, 0.01), WITHIN),
        (cell(0.7, 0.01), (0.74, 0.05), WITHIN),
        (cell(0.7, 0.01), (0.74, 0.02), DIFFERS),
        (cell(0.7, 0.0), (0.7099, 0.0), WITHIN),  # the last printed digit
        (cell(0.7, math.nan), (0.74, 0.05), WITHIN),
        (cell(0.7, 0.02), (0.74, math.nan), DIFFERS),
        (cell(math.nan, math.nan), (0.74, 0.05), NOT_GIVEN),
        (cell(0.7, 0.02), (math.nan, math.nan), NOT_GIVEN),
        (cell(0.88, 0.88), (0.88, 0.02), IMPOSSIBLE),
    ],
)
def test_verdicts(printed, ours, expected):
    """Two figures agree within the larger spread, or within the last printed digit."""
    assert verdict(printed, {"mean": ours[0], "std": ours[1]}) == expected


def test_impossible_spreads_are_the_three_known_ones_and_their_kin():
    """Of the printed spreads of measures between 0 and 1, four cannot be."""
    found = [
        c["std"]
        for c in load_paper_tables()
        if c["measure"] in ("Acc", "AM", "F") and is_impossible(c)
    ]
    assert sorted(found) == [0.61, 0.72, 0.88, 0.88]


def test_the_summary_counts_cells_that_errata_touch_apart(whole):
    """Every compared cell is counted once, on the side that it belongs to."""
    entries = summarize(whole.rows)
    assert sum(e["cells"] + e["touched_cells"] for e in entries) == 27
    assert errata_of({**cell(0.7, 0.1), "method": "usq_regerm"}) == ["E1"]


def test_the_page_needs_nothing_else(whole):
    """The report loads nothing, and has each table, colour by verdict."""
    page = (whole.folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="|url\(|@import|<script', page)
    for name in SMALL:
        assert TABLES[name].title in page
    assert 'class="ok"' in page


def test_a_folder_that_cannot_be_made_is_a_mistake(tmp_path):
    """A file in the place of the folder is explained, and left alone."""
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ExperimentError, match="must be a folder"):
        reproduce(SMALL[:1], trials=1, out=tmp_path / "out", progress=False)
    assert (tmp_path / "out").read_text() == "mine"
