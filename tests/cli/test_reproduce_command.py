"""`flipcost reproduce`: what it writes and says."""

from flipcost.cli import main
from flipcost.paper.experiments import TABLES
from flipcost.paper.experiments.run import UnitStore

SMALL = ["cost_clean_all_case2_BUPA", "cost_clean_all_case3_syn2"]


def test_the_command_writes_and_says_so(tmp_path, capsys):
    """The command prints the agreement and where the files are."""
    args = ["reproduce", SMALL[0], "--trials", "1", "--out", str(tmp_path / "out"), "--quiet"]
    assert main(args) == 0
    assert "of 6 printed cells" in capsys.readouterr().out
    assert (tmp_path / "out" / "report.html").exists()


def test_the_command_complains_of_a_wrong_table(tmp_path, capsys):
    """A wrong name is a mistake of the user's: exit code 2, and the near name."""
    assert main(["reproduce", "F_measure", "--out", str(tmp_path / "out")]) == 2
    assert "F_measure_cost" in capsys.readouterr().err


def test_the_command_names_its_option_for_an_earlier_run(tmp_path, capsys):
    """Units of an earlier run are neither used nor thrown away unasked."""
    UnitStore(tmp_path, 0).close()
    assert main(["reproduce", SMALL[0], "--out", str(tmp_path)]) == 2
    assert "resume it (--resume), replace it (--overwrite)" in capsys.readouterr().err


def test_an_earlier_run_is_replaced_when_asked(tmp_path, capsys):
    """--overwrite begins anew in a folder that holds units and pages."""
    args = ["reproduce", SMALL[0], "--trials", "1", "--out", str(tmp_path), "--quiet"]
    for more, code in (([], 0), ([], 2), (["--overwrite"], 0), (["--overwrite", "--resume"], 2)):
        assert main([*args, *more]) == code, capsys.readouterr().err
    (tmp_path / "units.jsonl").unlink()
    assert main(args) == 2
    assert "report.html exists already; give --overwrite" in capsys.readouterr().err


def test_an_interrupt_keeps_what_is_finished(tmp_path, monkeypatch, capsys):
    """Ctrl-C says how to go on, and the units that were finished are there."""
    seen = []
    original = UnitStore.add

    def interrupting(self, key, records):
        original(self, key, records)
        seen.append(key)
        if len(seen) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(UnitStore, "add", interrupting)
    args = ["reproduce", SMALL[1], "--trials", "1", "--out", str(tmp_path), "--quiet"]
    assert main(args) == 2
    assert "--resume" in capsys.readouterr().err
    store = UnitStore(tmp_path, 0, resume=True)
    store.close()
    assert list(store.records) == seen


def test_the_command_lists_tables(capsys):
    """--list names all 23 tables and runs nothing."""
    assert main(["reproduce", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in TABLES)
