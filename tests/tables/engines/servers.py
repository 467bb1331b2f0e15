"""Servers that the tests start on loopback, and end; plain words where there are none."""

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

PASSWORD = "a secret & 100% long"
_TYPES = {
    "double": "float8", "float": "float4", "int64": "int8", "int32": "int4", "int16": "int2",
    "bool": "boolean", "string": "text", "large_string": "text", "date32[day]": "date",
}  # fmt: skip


class PostgreSQL:
    """A running server, and a connection to it."""

    def __init__(self, port):
        from urllib.parse import quote

        import psycopg

        self.port = port
        self.address = f"postgresql://flip:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/postgres"
        self.connection = psycopg.connect(self.address, autocommit=True)

    def fill(self, table, name):
        """Make a table of an Arrow table."""
        columns = ", ".join(f'"{field.name}" {_postgresql_type(field)}' for field in table.schema)
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)


def _postgresql_type(field):
    said = str(field.type)
    if said.startswith("decimal"):
        return "numeric"
    return "text" if said.startswith("dictionary") else _TYPES[said]


@contextmanager
def running_postgresql():
    """Start a PostgreSQL server with a data folder of its own, and stop it."""
    pytest.importorskip("psycopg")
    programs = _programs()
    if programs is None:
        pytest.skip("No PostgreSQL server is installed; on Debian: apt-get install postgresql")
    as_user = _other_user()
    folder = Path(tempfile.mkdtemp(prefix="flipcost-pg-", dir="/tmp"))
    try:
        (folder / "password").write_text(PASSWORD)
        for path in (folder, folder / "password"):
            if as_user:
                shutil.chown(path, "postgres")
        data, port = folder / "data", _free_port()
        _run([*as_user, programs / "initdb", "-D", data, "-U", "flip", "-A", "scram-sha-256",
              f"--pwfile={folder / 'password'}", "--no-sync", "-E", "UTF8"], folder)  # fmt: skip
        options = f"-h 127.0.0.1 -p {port} -k {folder} -F"
        control = [*as_user, programs / "pg_ctl", "-D", data, "-w"]
        _run([*control, "-l", folder / "log", "-o", options, "start"], folder)
        try:
            server = PostgreSQL(port)
            yield server
            server.connection.close()
        finally:
            _run([*control, "-m", "immediate", "stop"], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command, folder):
    found = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    if found.returncode:
        pytest.skip(f"PostgreSQL would not start: {found.stderr.strip() or found.stdout.strip()}")


def _programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    on_path = shutil.which("pg_ctl")
    return found[-1] if found else Path(on_path).parent if on_path else None


def _other_user():
    """Return how to run as another: a server refuses root, and Debian's package makes a user."""
    if getpass.getuser() != "root":
        return []
    if not shutil.which("runuser"):
        pytest.skip("PostgreSQL does not run as root, and there is no `runuser` to change that.")
    return ["runuser", "-u", "postgres", "--"]


def _free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def running_spark():
    """Start Spark in this machine with two workers of one core each, in processes of their own."""
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java; on Debian: apt-get install openjdk-17-jre-headless")
    before = os.environ.get("SPARK_HOME")
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that Spark thinks too new
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local-cluster[2,1,512]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.executor.memory", "512m")
            .config("spark.sql.shuffle.partitions", "2")
            # A few hundred rows are read faster than code for them is compiled.
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config("spark.sql.warehouse.dir", tempfile.mkdtemp(prefix="flipcost-spark-"))
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
        if before is None:
            del os.environ["SPARK_HOME"]
        else:
            os.environ["SPARK_HOME"] = before
