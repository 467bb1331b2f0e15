"""`flipcost recheck` and `flipcost audit --checked`: the loop, as its user goes through it."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv as pa_csv

from flipcost.cli import main
from flipcost.recheck import unused_batches
from tests.audit.helpers import noisy_table

N_ROWS = 500


@pytest.fixture(scope="module")
def truth():
    return noisy_table(N_ROWS, rate=(0.3, 0.1))["truth"].to_pylist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, and its audit in ``out``."""
    place = tmp_path_factory.mktemp("loop")
    table = noisy_table(N_ROWS, rate=(0.3, 0.1)).drop_columns("truth")
    names = pa.array([f"r{k}" for k in range(N_ROWS)])
    pa_csv.write_csv(table.append_column("name", names), place / "calls.csv")
    assert main([*audit_args(place), "--quiet"]) == 0
    return place


def audit_args(place, out="out"):
    args = ["audit", str(place / "calls.csv"), "--target", "ill", "--cost-fn", "4", "--cost-fp"]
    return [*args, "1", "--id", "name", "--model", "linear", "--out", str(place / out)]


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def fill(path, truth, n=None):
    """Fill in right labels, as someone would."""
    rows = rows_of(path)
    for row in rows[:n]:
        row["checked"] = truth[int(row["row"]) - 1]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_the_loop(folder, truth, capsys):
    """Audit, check, ask for more, check, audit again: nothing is lost, asked twice or replaced."""
    out = folder / "out"
    first = rows_of(out / "recheck.csv")
    assert len(first) == 50
    assert set(first[0]) >= {
        "row",
        "id",
        "x0",
        "x1",
        "x2",
        "label",
        "inclusion_probability",
        "checked",
    }
    assert not any(row["checked"] for row in first)
    fill(out / "recheck.csv", truth, 30)
    before = (out / "recheck.csv").read_bytes()

    assert main(["recheck", str(out), "--n", "20", "--cost-check", "1000000"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("20 checks cost 20 million and are expected to save about")
    second = rows_of(out / "recheck-2.csv")
    assert len(second) == 20
    assert not {row["row"] for row in first} & {row["row"] for row in second}
    fill(out / "recheck-2.csv", truth)

    files = ["--checked", str(out / "recheck.csv"), "--checked", str(out / "recheck-2.csv")]
    assert main([*audit_args(folder), *files, "--overwrite", "--cost-check", "0.001"]) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["data"]["checked_rows"] == 50
    assert [point["checked_rows"] for point in summary["recheck"]["history"]] == [0, 30, 50]
    assert (out / "recheck.csv").read_bytes() == before
    third = rows_of(out / "recheck-3.csv")
    known = {row["row"] for row in first[:30] + second}
    assert not known & {row["row"] for row in third}


@pytest.mark.parametrize(("to", "suffix"), [("label-studio", "json")])
def test_other_programs_check_too(folder, capsys, to, suffix):
    """Rows go out in their formats, with names that the table has."""
    assert main(["recheck", str(folder / "out"), "--n", "3", "--format", to, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["file"].endswith(f".{suffix}")
    text = Path(found["file"]).read_text()
    facts = [item["data"] for item in json.loads(text)]
    assert [fact["row"] for fact in facts] == found["rows"]
    assert [fact["row_id"] for fact in facts] == [f"r{row - 1}" for row in found["rows"]]


def test_a_plain_sample(folder, capsys):
    """With --random the rows that are left are alike."""
    assert main(["recheck", str(folder / "out"), "--n", "5", "--random", "--json"]) == 0
    path = json.loads(capsys.readouterr().out)["file"]
    rows = rows_of(Path(path))
    assert len({row["inclusion_probability"] for row in rows}) == 1
    assert {row["reason"] for row in rows} == {"drawn at random"}


MISTAKES = {
    "no label": ("row,label,checked\n1,{0},maybe\n", "line 2: 'checked' must be one of the labels"),
    "no row": ("row,label,checked\n9999,{0},yes\n", "line 2: there is no row 9999"),
    "no name": ("row,id,label,checked\n1,zz,{0},yes\n", "line 2: the table has no row called 'zz'"),
    "changed": (
        "row,label,checked\n1,{0},yes\n2,nonsense,yes\n",
        "line 3: row 2 had the label 'nonsense' when it was handed out",
    ),
    "twice": ("row,label,checked\n1,{0},yes\n1,{0},no\n", "line 3: row 1 was checked more than"),
    "nothing": ("row,label,checked\n1,{0},\n", "holds no answers yet"),
    "no column": ("row,label,right\n1,{0},yes\n", "has no column 'checked'"),
}


@pytest.mark.parametrize("share", ["0.25", "0"])
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_with_their_line(folder, tmp_path, capsys, name, share):
    """Exit code 2, one line with the file and the line, and nothing written; in passes too."""
    text, words = MISTAKES[name]
    label = rows_of(folder / "calls.csv")[0]["ill"]
    path = tmp_path / "checked.csv"
    path.write_text(text.format(label))
    args = [*audit_args(folder), "--checked", str(path), "--memory-share", share, "--quiet"]
    args[args.index("--out") + 1] = str(tmp_path / "out")
    assert main(args) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert str(path) in line
    assert not (tmp_path / "out").exists()


def test_mistakes_of_recheck_itself(folder, tmp_path, capsys):
    """Folders, formats, prices and answers that are none: exit code 2, and nothing written."""
    out = str(folder / "out")
    wrong = tmp_path / "checked.csv"
    wrong.write_text("row,id,label,checked\n1,r0,yes,yes\n1,r0,no,maybe\n")
    for args, words in (
        ([str(tmp_path)], "has no recheck-pool.parquet"),
        ([str(tmp_path / "nowhere")], "has no recheck-pool.parquet"),
        ([out, "--format", "excel"], "--format must be one of"),
        ([out, "--cost-check", "-1"], "--cost-check must be a number above 0"),
        ([out, "--n", "0"], "--help"),
        ([out, "--checked", str(wrong)], "line 3: 'checked' must be one of the labels"),
        ([out, "--checked", str(tmp_path / "no.csv")], "no.csv"),
    ):
        before = sorted(Path(out).iterdir())
        assert main(["recheck", *args]) == 2
        assert words in capsys.readouterr().err
        assert sorted(Path(out).iterdir()) == before


def test_a_checked_file_is_never_replaced(folder, truth, tmp_path, capsys):
    """An audit into the folder of a file that it reads writes the next one beside it."""
    args = audit_args(folder)
    args[args.index("--out") + 1] = str(tmp_path)
    assert main([*args, "--quiet"]) == 0
    fill(tmp_path / "recheck.csv", truth)
    before = (tmp_path / "recheck.csv").read_bytes()
    assert main([*args, "--quiet", "--checked", str(tmp_path / "recheck.csv")]) == 2
    assert "already" in capsys.readouterr().err
    more = ["--quiet", "--overwrite", "--checked", str(tmp_path / "recheck.csv")]
    assert main([*args, *more]) == 0
    assert (tmp_path / "recheck.csv").read_bytes() == before
    assert (tmp_path / "recheck-2.csv").exists()


@pytest.mark.slow
def test_overwriting_removes_what_nobody_touched(folder, truth, tmp_path):
    """Files of an earlier run go, but for answers, files that are read, and those of others."""
    args = [*audit_args(folder), "--quiet"]
    args[args.index("--out") + 1] = str(tmp_path)
    assert main(args) == 0
    for _ in range(5):
        assert main(["recheck", str(tmp_path), "--n", "3", "--quiet"]) == 0
    assert main(["recheck", str(tmp_path), "--n", "3", "--quiet", "--format", "label-studio"]) == 0
    untouched, filled, saved, noted, read = (
        tmp_path / f"recheck-{number}.csv" for number in (2, 3, 4, 5, 6)
    )
    fill(filled, truth, 1)
    assert {untouched, read} <= set(unused_batches(tmp_path))
    assert read not in unused_batches(tmp_path, [read])
    fill(read, truth)
    saved.write_bytes(saved.read_bytes().replace(b"\n", b"\r\n"))
    noted.write_bytes(noted.read_bytes().replace(b"checked\n", b"checked,notes\n", 1))
    (tmp_path / "recheck-june.csv").write_bytes(untouched.read_bytes())
    (tmp_path / "recheck-20.csv").write_text("row,price\n1,2\n")
    (tmp_path / "recheck-21.csv").symlink_to(untouched)
    kept = {
        path.name: path.read_bytes()
        for path in tmp_path.glob("recheck-*")
        if path.name not in ("recheck-2.csv", "recheck-21.csv", "recheck-pool.parquet")
    }
    before = {path.name for path in tmp_path.iterdir()}
    # Refused runs remove nothing.
    assert main(args) == 2
    assert main([*args, "--overwrite", "--noise-rate", "0.9"]) == 2
    assert {path.name for path in tmp_path.iterdir()} == before
    assert main([*args, "--overwrite", "--checked", str(read)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == before - {untouched.name}
    assert kept == {name: (tmp_path / name).read_bytes() for name in kept}
    assert len(rows_of(tmp_path / "recheck.csv")) == 50  # the new ones: the old had no answer


def test_overwriting_removes_a_pool_without_rows_to_check(folder, tmp_path, monkeypatch):
    """Where an audit chooses no rows, those of an earlier one are not left to choose from."""
    args = [*audit_args(folder), "--quiet"]
    args[args.index("--out") + 1] = str(tmp_path)
    assert main(args) == 0
    pool = tmp_path / "recheck-pool.parquet"
    whole = pool.read_bytes()
    monkeypatch.setattr("flipcost.cli._audit._write_batch", lambda *_: None)
    pool.write_bytes(b"of somebody else")
    assert main([*args, "--overwrite"]) == 0
    assert pool.read_bytes() == b"of somebody else"
    pool.write_bytes(whole)
    assert main([*args, "--overwrite"]) == 0
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"report.html", "summary.json", "model.json", "suspects.csv"}


def test_a_kill_leaves_whole_files_only(folder, tmp_path):
    """Killed while it writes batches, `recheck` leaves each of them whole, and those before."""
    script = (
        "import sys; from flipcost.cli import main\n"
        "while True: main(['recheck', sys.argv[1], '--n', '2', '--quiet']); print('x', flush=True)"
    )
    out = tmp_path / "out"
    out.mkdir()
    pool = folder / "out" / "recheck-pool.parquet"
    (out / pool.name).write_bytes(pool.read_bytes())
    writer = subprocess.Popen([sys.executable, "-c", script, str(out)], stdout=subprocess.PIPE)
    for _ in range(3):
        writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    files = sorted(out.glob("recheck*.csv"))
    assert len(files) >= 3
    asked = [row["row"] for path in files for row in rows_of(path)]
    assert len(asked) == 2 * len(files) == len(set(asked))
    assert main(["recheck", str(out), "--n", "2", "--quiet"]) == 0


@pytest.mark.slow
def test_a_killed_audit_leaves_answers_as_they_were(folder, truth, tmp_path):
    """Killed at any moment of a second audit, the files of the first round stay whole."""
    args = audit_args(folder)
    args[args.index("--out") + 1] = str(tmp_path)
    assert main([*args, "--quiet"]) == 0
    fill(tmp_path / "recheck.csv", truth)
    answers = (tmp_path / "recheck.csv").read_bytes()
    more = ["--overwrite", "--quiet", "--checked", str(tmp_path / "recheck.csv")]
    script = "import sys; from flipcost.cli import main; sys.exit(main(sys.argv[1:]))"
    for pause in (1.5, 2.5, 3.5):
        run = subprocess.Popen([sys.executable, "-c", script, *args, *more])
        time.sleep(pause)
        run.kill()
        run.wait()
        assert (tmp_path / "recheck.csv").read_bytes() == answers
        assert json.loads((tmp_path / "summary.json").read_text())
    assert main([*args, *more]) == 0
    assert (tmp_path / "recheck.csv").read_bytes() == answers
    assert not list(tmp_path.glob(".flipcost-*"))
