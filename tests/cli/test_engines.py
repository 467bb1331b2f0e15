"""`flipcost audit` on databases: DuckDB files here, a PostgreSQL server beside."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from flipcost.cli import main
from tests.tables.engines.servers import PASSWORD, running_postgresql

duckdb = pytest.importorskip("duckdb")

PRICES = ["--cost-fn", "4", "--cost-fp", "1", "--target", "fraud", "--id", "id"]


def calls(n=600):
    rng = np.random.default_rng(0)
    fraud = rng.random(n) < 0.4
    amount = rng.normal(size=n) + 2 * fraud
    label = np.where(rng.random(n) < 0.15, ~fraud, fraud)
    return pa.table(
        {
            "id": np.arange(n),
            "amount": amount,
            "minutes": rng.gamma(2.0, size=n),
            "town": rng.choice(["Lyon", "Nice"], n).tolist(),
            "fraud": label,
        }
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "calls.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", calls())
        connection.execute("CREATE TABLE calls AS SELECT * FROM given")
    return path


def audit(*args):
    return main(["audit", *map(str, args), "--model", "linear", "--quiet"])


def test_a_table_of_a_duckdb_file_is_audited(file, tmp_path, capsys):
    """The four files are those of the same rows in a file of their own."""
    out = tmp_path / "out"
    assert audit(f"{file}::calls", *PRICES, "--out", out) == 0
    summary = json.loads((out / "summary.json").read_text())
    written = {path.name for path in out.iterdir()}
    assert written >= {"model.json", "report.html", "summary.json", "suspects.csv"}
    import pyarrow.parquet as pq

    pq.write_table(calls(), tmp_path / "calls.parquet")
    assert audit(tmp_path / "calls.parquet", *PRICES, "--out", tmp_path / "other") == 0
    other = json.loads((tmp_path / "other" / "summary.json").read_text())
    for name in ("state", "wrong_share", "chosen"):
        assert summary[name] == other[name], name
    said = capsys.readouterr().err
    assert "sample" not in said


def test_more_rows_than_are_taken_are_counted_there(file, tmp_path, capsys):
    """Of a table larger than --max-rows few rows leave, and the screen says so."""
    args = [f"{file}::calls", *PRICES, "--max-rows", 300, "--out", tmp_path / "out"]
    assert main(["audit", *map(str, args), "--model", "linear"]) == 0
    shown = capsys.readouterr()
    said = " ".join(shown.out.split())
    assert "600 rows" in said
    assert "drawn and scored by queries in DuckDB, models compared on 300 rows" in said
    assert "sample" not in shown.err


def test_checked_rows_come_back(file, tmp_path, capsys):
    """What an audit hands out is filled in and given to the next, found by --id alone."""
    args = [f"{file}::calls", *PRICES, "--max-rows", 300]
    assert audit(*args, "--out", tmp_path / "a") == 0
    with (tmp_path / "a" / "recheck.csv").open() as handed:
        rows = list(csv.DictReader(handed))
    with (tmp_path / "done.csv").open("w", newline="") as filled:
        writer = csv.DictWriter(filled, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "checked": row["label"]} for row in rows)
    checked = ["--checked", tmp_path / "done.csv"]
    assert audit(*args, *checked, "--out", tmp_path / "b") == 0
    summary = json.loads((tmp_path / "b" / "summary.json").read_text())
    assert summary["recheck"]["history"][-1]["checked_rows"] == len(rows)
    assert audit(*args[:-4], "--drop", "id", *args[-2:], *checked, "--out", tmp_path / "c") == 2
    assert "found by their names only; give --id" in capsys.readouterr().err


def test_a_query_and_a_sample(file, tmp_path, capsys):
    """--table takes a SELECT; without names of rows a sample is said to be audited, and why."""
    out = tmp_path / "out"
    query = "SELECT * FROM calls WHERE amount > -10"
    code = audit(file, "--table", query, *PRICES[:-2], "--max-rows", 300, "--out", out)
    assert code == 0
    said = capsys.readouterr().err
    assert "A random sample of 300 of 600 rows was audited" in said
    assert "what a query gives has no numbers of rows; name them by --id" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["{file}::nowhere"], "DuckDB has no table 'nowhere'"),
        (["{file}"], "Give --table, the table or the SELECT of"),
        (["{file}::calls", "--table", "calls"], "Name the table once"),
        (["nowhere.duckdb::calls"], "There is no DuckDB file at 'nowhere.duckdb'"),
        (["{file}", "--table", "SELECT 1; DROP TABLE calls"], "without a semicolon"),
        (["{file}", "--table", "SELECT * FROM calls WHERE false"], "must hold rows to audit"),
        (["rows.csv", "--table", "calls"], "--table goes with a database"),
        (["--table", "calls"], "set FLIPCOST_CONNECTION"),
        (["postgresql://me:secret@127.0.0.1:1/db"], "Give --table"),
        (["mysql://me:secret@host/db", "--table", "calls"], "got one of 'mysql'"),
        (["postgresql://me:sec ret@host/db", "--table", "calls"], "address of the database cannot"),
        (["postgresql://me:secret@127.0.0.1:1/db", "--table", "calls"], "No PostgreSQL server"),
    ],
)
def test_mistakes_are_one_sentence(file, tmp_path, capsys, monkeypatch, args, said):
    """Exit code 2, one line, no password, nothing written."""
    if "PostgreSQL server" in said or "cannot" in said:
        pytest.importorskip("psycopg")
    monkeypatch.delenv("FLIPCOST_CONNECTION", raising=False)
    out = tmp_path / "out"
    assert audit(*(a.format(file=file) for a in args), *PRICES, "--out", out) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert "sec" not in shown.err.replace("seconds", "")
    assert not out.exists()


def test_the_environment_gives_the_connection(file, tmp_path, monkeypatch):
    """FLIPCOST_CONNECTION, which may also be the path of a DuckDB file, with --table."""
    monkeypatch.setenv("FLIPCOST_CONNECTION", str(file))
    assert audit("--table", "calls", *PRICES, "--out", tmp_path / "out") == 0


@pytest.mark.engines
@pytest.mark.slow
def test_postgresql_is_audited_and_its_password_is_nowhere(tmp_path, monkeypatch, capsys):
    """Address and password are in no file, on no screen, in no error."""
    with running_postgresql() as server:
        server.fill(calls(), "calls")
        server.connection.execute("CREATE ROLE stranger LOGIN PASSWORD 'secret'")
        monkeypatch.setenv("FLIPCOST_CONNECTION", server.address)
        out = tmp_path / "out"
        code = main(["audit", "--table", "calls", *PRICES, "--out", str(out), "--model", "linear"])
        assert code == 0
        secret = server.address.split(":")[2].split("@")[0]
        hidden = [PASSWORD, secret, "127.0.0.1", "postgresql://"]
        shown = capsys.readouterr()
        files = [path for path in out.rglob("*") if path.is_file()]
        texts = [path.read_bytes().decode("latin-1") for path in files]
        for word in hidden:
            assert not any(word in text for text in [shown.out, shown.err, *texts]), word
        wrong = server.address.replace(secret, "wrong")
        assert audit(wrong, "--table", "calls", *PRICES, "--out", tmp_path / "b") == 2
        assert "refused the user or the password" in capsys.readouterr().err
        stranger = server.address.replace(f"flip:{secret}", "stranger:secret")
        assert audit(stranger, "--table", "calls", *PRICES, "--out", tmp_path / "b") == 2
        assert "does not let this user read table 'calls'" in capsys.readouterr().err
        assert audit(server.address, "--table", "nope", *PRICES, "--out", tmp_path / "b") == 2
        assert "PostgreSQL has no table 'nope'" in capsys.readouterr().err
        nowhere = server.address.replace("/postgres", "/nowhere")
        assert audit(nowhere, "--table", "calls", *PRICES, "--out", tmp_path / "b") == 2
        assert "has no such database" in capsys.readouterr().err
