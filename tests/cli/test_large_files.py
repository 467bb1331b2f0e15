"""`flipcost audit` on files that are not held: in passes, and on a cluster."""

import csv
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from flipcost.cli import main
from flipcost.tables import files
from flipcost.tables.files import expected_rows
from tests.audit.helpers import noisy_table
from tests.tables.cluster import local_cluster

OPTIONS = ["--target", "ill", "--cost-fn", "4", "--cost-fp", "1"]


def run(capsys, *args):
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def rows(tmp_path):
    """Return a CSV file, and a folder of Parquet files with the same rows."""
    table = noisy_table(3000).drop_columns("truth")
    pc.write_csv(table, tmp_path / "a.csv")
    (tmp_path / "days").mkdir()
    for k in range(3):
        pq.write_table(table.slice(1000 * k, 1000), tmp_path / "days" / f"{k}.parquet")
    return tmp_path


def test_a_file_beyond_the_share_of_memory_is_read_in_passes(rows, capsys, monkeypatch):
    """The route is taken by itself, at a quarter of the memory unless told otherwise."""
    args = ["audit", rows / "a.csv", *OPTIONS, "--json", "--overwrite", "--out", rows / "out"]
    size = (rows / "a.csv").stat().st_size
    found = {}
    for memory in (4 * size + 4, 4 * size - 4):
        monkeypatch.setattr(files, "usable_memory", lambda memory=memory: memory)
        code, out, err = run(capsys, *args)
        assert code == 0, err
        found[memory] = json.loads(out)["data"]["reading"]
    assert list(found.values()) == ["in memory", "read piece by piece"]
    code, out, _ = run(capsys, *args, "--memory-share", "0.5")
    assert json.loads(out)["data"]["reading"] == "in memory"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_all_rows_are_looked_at_unless_a_sample_is_asked_for(name, rows, capsys, monkeypatch):
    """Of more rows than are held all are read in passes, whether that shows before or not."""
    monkeypatch.setattr("flipcost.tables.sample.SAMPLE_ROWS", 2000)
    (rows / "a.csv.gz").write_bytes(gzip.compress((rows / "a.csv").read_bytes()))
    pq.write_table(noisy_table(3000).drop_columns("truth"), rows / "a.parquet")
    args = ["audit", rows / name, *OPTIONS, "--json", "--overwrite", "--out", rows / "out"]

    def read(*more):
        code, out, err = run(capsys, *args, *more)
        assert code == 0, err
        data = json.loads(out)["data"]
        return data["rows"], data["rows_in_table"], data["reading"]

    assert read() == (3000, 3000, "read piece by piece")
    some = read("--max-rows", "500", "--model", "linear")
    assert some == (3000, 3000, "read piece by piece")


def test_rows_of_a_file_are_expected_from_its_beginning(tmp_path):
    """Within a tenth for text of even lines, exactly for Parquet; nothing of what is no table."""
    table = noisy_table(5000)
    pc.write_csv(table, tmp_path / "a.csv")
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "no.parquet").write_bytes(b"PAR1 and nothing more")
    assert expected_rows(tmp_path / "a.csv") == pytest.approx(5000, rel=0.1)
    assert expected_rows(tmp_path / "a.parquet") == 5000
    assert expected_rows(tmp_path / "no.parquet") == 0


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory):
    """Return the folder that an audit of the same rows in memory writes."""
    folder = tmp_path_factory.mktemp("memory")
    pc.write_csv(noisy_table(3000).drop_columns("truth"), folder / "a.csv")
    args = ["audit", folder / "a.csv", *OPTIONS, "--quiet", "--overwrite", "--out", folder / "out"]
    assert main([str(arg) for arg in args]) == 0
    return folder / "out"


def close(ours, theirs):
    """Tell whether each of two estimates lies in the interval of the other."""
    pairs = ((ours, theirs), (theirs, ours))
    return all(a["low"] - 1e-9 <= b["value"] <= a["high"] + 1e-9 for a, b in pairs)


@pytest.mark.parametrize("source", ["days", "days/*.parquet", "a.csv"])
def test_what_is_written_is_what_memory_writes(source, rows, capsys, in_memory):
    """A folder, a pattern or a file in passes: the same four files, and the same in them.

    Folds differ, rows do not: rates and costs lie in each other's intervals.
    """
    args = [
        "audit",
        rows / source,
        *OPTIONS,
        "--memory-share",
        "0",
        "--overwrite",
        "--out",
        rows / "out",
    ]
    code, screen, err = run(capsys, *args)
    assert code == 0, err
    assert "read piece by piece" in " ".join(screen.split())
    assert "read piece by piece" in (rows / "out" / "report.html").read_text()
    assert {p.name for p in (rows / "out").iterdir()} == {p.name for p in in_memory.iterdir()}
    ours, theirs = (json.loads((f / "summary.json").read_text()) for f in (rows / "out", in_memory))
    assert ours.keys() == theirs.keys()
    own = {"name": "", "reading": ""}
    assert ours["data"] | own == theirs["data"] | own
    for key in ("costs", "level", "seed", "chosen", "warnings"):
        assert ours[key] == theirs[key]
    assert close(ours["noise_rate"]["of_positives"], theirs["noise_rate"]["of_positives"])
    kept = {candidate["key"]: candidate for candidate in theirs["candidates"]}
    assert set(kept) == {candidate["key"] for candidate in ours["candidates"]}
    for one in ours["candidates"]:
        other = kept[one["key"]]
        assert one["label"] == other["label"]
        for name in ("cost_observed", "cost_clean", "saving_of_chosen"):
            assert close(one[name], other[name])
    suspects = [_suspects(folder) for folder in (rows / "out", in_memory)]
    labels = noisy_table(3000)["ill"].to_pylist()
    assert all(labels[row - 1] == label for row, label in suspects[0])
    assert len(set(suspects[0][:50]) & set(suspects[1][:100])) >= 45


def _suspects(folder):
    with (folder / "suspects.csv").open(newline="") as file:
        return [(int(row["row"]), row["label"]) for row in csv.DictReader(file)]


def test_models_made_in_passes_and_in_memory_predict_alike(rows, capsys, in_memory):
    """Models from the same rows call nearly the same of them, whichever way these were read."""
    args = ["audit", rows / "days", *OPTIONS, "--quiet", "--overwrite", "--out", rows / "out"]
    assert run(capsys, *args)[0] == 0
    flagged = []
    for folder in (rows / "out", in_memory):
        args = [
            "predict",
            folder / "model.json",
            rows / "a.csv",
            "--overwrite",
            "--out",
            rows / "p.csv",
        ]
        code, _, err = run(capsys, *args)
        assert code == 0, err
        flagged.append(pc.read_csv(rows / "p.csv")["prediction"].to_pylist())
    assert len(flagged[0]) == 3000
    assert sum(a == b for a, b in zip(*flagged, strict=True)) > 0.95 * 3000


@pytest.mark.slow
def test_boosting_learns_from_a_large_file(rows, capsys):
    """Any model learns from the rows that are drawn, and every row counts."""
    options = ("--memory-share", "0", "--model", "boosting", "--max-rows", "1000")
    args = ["audit", rows / "a.csv", *OPTIONS, *options]
    code, out, err = run(capsys, *args, "--json", "--overwrite", "--out", rows / "out")
    assert code == 0, err
    data = json.loads(out)["data"]
    assert (data["reading"], data["rows"]) == ("read piece by piece", 3000)


def damaged(folder):
    """Make the second file wrong in one way after the other, with what the line must say."""
    path = folder / "days" / "1.parquet"
    content, table = path.read_bytes(), pq.read_table(path)
    yield content[: len(content) // 2], r"1.parquet' cannot be read"
    yield b"PAR1" + bytes(1000), r"1.parquet' cannot be read"
    for other, words in (
        (table.drop_columns("x1"), "there is no column 'x1'"),
        (table.set_column(1, "x1", pa.array(["a"] * 1000)), "'x1' must be of the same kind"),
        (table.slice(0, 0), None),
    ):
        pq.write_table(other, path)
        yield path.read_bytes(), words


def test_a_damaged_file_is_named_and_nothing_is_written(rows, capsys):
    """A file cut short, one without its columns, one of another kind; an empty one is nothing."""
    for content, words in damaged(rows):
        (rows / "days" / "1.parquet").write_bytes(content)
        args = ["audit", rows / "days", *OPTIONS, "--quiet", "--overwrite", "--out", rows / "out"]
        code, out, err = run(capsys, *args)
        if words is None:
            assert code == 0, err
            assert (rows / "out").exists()
        else:
            assert (code, out) == (2, "")
            assert words in err
            assert "1.parquet" in err
            assert err.count("\n") == 1
            assert not (rows / "out").exists()


def test_a_file_that_goes_away_is_named(rows, capsys, monkeypatch):
    """A file that disappears between the passes: one line, nothing written."""
    from flipcost.audit._sources import FilesInPasses

    draw = FilesInPasses.draw

    def meddle(*args):
        found = draw(*args)
        (rows / "days" / "2.parquet").unlink()
        return found

    monkeypatch.setattr(FilesInPasses, "draw", meddle)
    options = [*OPTIONS, "--max-rows", "500", "--quiet", "--overwrite", "--out", rows / "out"]
    code, _, err = run(capsys, "audit", rows / "days", *options)
    assert code == 2
    assert "2.parquet" in err
    assert not (rows / "out").exists()


@pytest.mark.slow
def test_a_cluster_audits_what_this_process_would(rows, capsys):
    """`--dask` gives the audit of one process, for Parquet to rounding."""
    found = {}
    with local_cluster() as cluster:
        for name, options in (
            ("here", ["--memory-share", "0"]),
            ("there", ["--dask", cluster.scheduler_address]),
        ):
            for source in ("days", "a.csv"):
                args = [
                    "audit",
                    rows / source,
                    *OPTIONS,
                    *options,
                    "--json",
                    "--overwrite",
                    "--out",
                    rows / "out",
                ]
                code, out, err = run(capsys, *args)
                assert code == 0, err
                found[name, source] = json.loads(out)
    here, there = found["here", "days"], found["there", "days"]
    assert there["data"]["reading"] == "read piece by piece on a Dask cluster"
    assert there["noise_rate"]["of_positives"] == pytest.approx(here["noise_rate"]["of_positives"])
    for ours, theirs in zip(there["candidates"], here["candidates"], strict=True):
        assert ours["cost_clean"] == pytest.approx(theirs["cost_clean"])
    text, known = found["there", "a.csv"]["noise_rate"], here["noise_rate"]["of_positives"]
    width = known["high"] - known["low"]
    assert abs(text["of_positives"]["value"] - known["value"]) < width / 4


def test_no_cluster_is_said_so(rows, capsys, monkeypatch):
    """No scheduler at the address, an example, a file that is not there."""
    pytest.importorskip("distributed")
    from flipcost.audit import _run

    connect = _run.dask_client
    monkeypatch.setattr(_run, "dask_client", lambda address: connect(address, timeout=0.2))
    code, _, err = run(capsys, "audit", rows / "a.csv", *OPTIONS, "--dask", "tcp://127.0.0.1:1")
    assert code == 2
    assert "A Dask scheduler must answer at 'tcp://127.0.0.1:1'" in err
    code, _, err = run(capsys, "audit", "--example", "pima", "--dask", "tcp://127.0.0.1:1")
    assert code == 2
    assert "not both" in err
    code, _, err = run(capsys, "audit", rows / "*.parquet", *OPTIONS)
    assert code == 2
    assert "no file at" in err
    assert not Path("flipcost-audit").exists()
