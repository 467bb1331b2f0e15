"""What may never come out, whatever goes in."""

import contextlib
import csv
import json
import math
import re
import sys

import numpy as np

# What loading a file may not do, as Python's audit events call it.
_EVENTS = ("os.", "subprocess.", "socket.", "shutil.", "ctypes.", "tempfile.", "urllib.", "winreg.")
# Events while someone watches; the hook itself stays for the life of the process.
_watched: dict[str, list[str]] = {}


class Fault(AssertionError):
    """What flipcost did and may not do."""


@contextlib.contextmanager
def watch():
    """Yield what will hold what is opened for writing, made, started or connected to."""
    if "hooked" not in _watched:
        sys.addaudithook(_note)
        _watched["hooked"] = []
    events: list[str] = []
    _watched["now"] = events
    try:
        yield events
    finally:
        del _watched["now"]


def _note(event, args):
    events = _watched.get("now")
    if events is None:
        return
    if event == "open":
        path, mode, flags = args
        if not (isinstance(mode, str) and set(mode) <= set("rbt")) and flags & 0o3:
            events.append(f"open {path} {mode}")
    elif event.startswith(_EVENTS) and event not in ("os.listdir", "os.scandir"):
        events.append(f"{event} {args}"[:200])


def strict_json(text):
    """Return JSON that holds no NaN and no Infinity."""

    def refuse(word):
        raise Fault(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


def check_words(code, out, err):
    """Check exit code and words of a command that was told to be quiet."""
    if code not in (0, 2):
        raise Fault(f"exit {code}: {err[-400:]}")
    if "Traceback" in err or "internal error" in err:
        raise Fault(f"a fault is owned up to: {err[-400:]}")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e]", out + err):
        raise Fault(f"control characters: {(out + err)[-400:]!r}")
    lines = err.strip().split("\n")
    if code == 2 and not (len(lines) == 1 and lines[0].startswith("flipcost: ")):
        raise Fault(f"not one line: {err[-600:]!r}")
    if code == 2 and out and not out.startswith("Usage"):
        raise Fault(f"an error, and output: {out[:200]!r}")
    if any(len(line) > 1300 for line in lines):
        raise Fault(f"a line of {max(map(len, lines))} characters")


def check_summary(summary):
    """Check that no number of a summary is one that cannot be."""
    prices = [summary["costs"][kind] for kind in ("false_negative", "false_positive")]
    # Prices of columns or in a range: what a row costs at most is not known here.
    dearest = math.inf if any(isinstance(price, str) for price in prices) else max(prices)
    data = summary["data"]
    if not 0 <= data["positive_labels"] <= data["rows"] <= data["rows_in_table"]:
        raise Fault(f"rows that cannot be: {data}")
    slack = 1e-9
    for path, interval in _intervals(summary):
        value, low, high = (interval[key] for key in ("value", "low", "high"))
        if value is None and path.endswith("precision") and (low, high) == (0.0, 1.0):
            continue  # of a part in which no row is called positive
        if not all(math.isfinite(v) for v in (value, low, high)):
            raise Fault(f"{path} is not finite: {interval}")
        most = dearest if "cost" in path or "saving" in path else 1.0
        most = data["rows"] if path.endswith("lift") else most
        most = dearest * data["rows"] if path.endswith("profit") else most
        least = -most if "saving" in path or "profit" in path else 0.0
        tolerance = slack * max(1.0, min(most, 1e9))
        if not low - tolerance <= value <= high + tolerance:
            raise Fault(f"impossible number: {path} is outside its interval: {interval}")
        if value < least - tolerance or value > most + tolerance:
            raise Fault(f"impossible number: {path} cannot be: {interval}, dearest {dearest}")


def _intervals(node, path=""):
    if isinstance(node, dict):
        if {"value", "low", "high"} <= set(node):
            yield path, node
        else:
            for key, part in node.items():
                yield from _intervals(part, f"{path}.{key}")
    elif isinstance(node, list):
        for k, part in enumerate(node):
            yield from _intervals(part, f"{path}[{k}]")


def check_results(folder):
    """Check the files of an audit, and return the summary."""
    names = {path.name for path in folder.iterdir()}
    if not {"report.html", "summary.json", "model.json", "suspects.csv"} <= names:
        raise Fault(f"results are not whole: {sorted(names)}")
    summary = strict_json((folder / "summary.json").read_text("utf-8"))
    check_summary(summary)
    with (folder / "suspects.csv").open(newline="", encoding="utf-8") as file:
        for row in list(csv.reader(file))[1:]:
            if any(cell[:1] in ("=", "@", "\t", "\r") for cell in row):
                raise Fault(f"a formula: {row}")
    report = (folder / "report.html").read_text("utf-8")
    if "<script>alert(1)" in report:
        raise Fault("a cell is in the report as it came")
    return summary


def check_predictions(path):
    """Check a file of predictions, and return how many rows it has."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for k, row in enumerate(rows, 1):
        if int(row["row"]) != k or not 0 <= float(row["probability_positive"]) <= 1:
            raise Fault(f"a prediction that cannot be: {row}")
    return len(rows)


def check_folder(folder, allowed):
    """Check that nothing is in a folder but what should be."""
    extra = sorted(path.name for path in folder.iterdir() if path.name not in allowed)
    if extra:
        raise Fault(f"left behind: {extra}")


def check_finite(values, what):
    """Check that numbers are numbers."""
    if not np.isfinite(np.asarray(values, dtype=float)).all():
        raise Fault(f"{what} is not finite")


def check_events(events):
    """Check that loading did nothing that can be seen from outside."""
    if events:
        raise Fault(f"loading did something: {events[:5]}")
