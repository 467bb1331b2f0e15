"""Mistakes people make: one line on standard error, exit code 2, nothing written."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flipcost.cli import main

CORPUS = Path(__file__).parent / "corpus"
PRICES = ["--cost-fn", "4", "--cost-fp", "1"]

# File, further options, and what the line must say.
FILES = [
    ("empty.csv", [], "is empty"),
    ("blank.csv", [], "is empty"),
    ("header_only.csv", [], "no rows"),
    ("prose.csv", [], "does not look like a table"),
    ("page.csv", [], "not a table"),
    ("records.csv", [], "not a table"),
    ("binary.csv", [], "binary data"),
    ("workbook.csv", [], "Excel"),
    ("truncated.csv.gz", [], "cannot be decompressed"),
    ("no_header.csv", [], "column names"),
    ("ragged.csv", [], "4 column names but 6 fields"),
    ("one_class.csv", [], "one class only, 'no'"),
    ("three_classes.csv", [], "3 classes: 'maybe', 'no', 'yes'"),
    ("few_positives.csv", [], "3 rows labelled 'yes'"),
    ("no_labels.csv", [], "no labels"),
    ("all_missing.csv", [], "'note' is empty; --drop note, or --drop-unusable."),
    ("constant.csv", [], "'site' has one value"),
    ("mixed_types.csv", [], "'dose' mixes numbers with 'twelve' (first in line 19)"),
    ("latin1.csv", [], "--encoding latin-1"),
    ("utf16.csv", [], "--encoding utf-16"),
    ("many_categories.csv.gz", ["--strict", "--quiet"], "'name' has too many categories"),
    ("good.csv", ["--positive", "maybe"], "--positive must be one of"),
    ("good.csv", ["--drop", "agee"], "did you mean 'age'?"),
    ("good.csv", ["--id", "nosuch"], "no column 'nosuch'"),
    ("good.csv", ["--id", "age", "--sample-weight", "age"], "two roles"),
    ("good.csv", ["--sample-weight", "town"], "must hold numbers"),
    ("good.csv", ["--noise-rate", "0.7"], "error rate"),
    ("good.csv", ["--noise-rate", "0.3,0.8"], "error rate"),
    ("good.csv", ["--noise-rate", "much"], "error rate"),
    ("rare_positive.csv", ["--noise-rate", "0.02,0.48"], "impossible"),
    ("good.csv", ["--noise-rate", "0.1", "--trusted", "town"], "not both"),
    ("good.csv", ["--second-label", "town"], "must hold the labels of 'ill'"),
    ("good.csv", ["--noise-model", "odd"], "--noise-model"),
    ("good.csv", ["--model", "forest"], "--model must be"),
    ("good.csv", ["--test", "no-such-file.csv"], "does not exist"),
    ("good.csv", ["--test", str(CORPUS / "three_classes.csv")], "'maybe'"),
    ("good.csv", ["--delimiter", ";;"], "one character"),
    ("good.csv", ["--encoding", "klingon"], "encoding"),
    ("good.csv", ["--nonsense"], "--nonsense"),
    ("good.csv", ["--seed", "one"], "seed"),
    ("bad_weights.csv", ["--sample-weight", "w"], "at least 0"),
    ("other_labels.csv", ["--trusted", "checked"], "'N', 'Y'"),
]


def refused(args, tmp_path, capsys):
    """Run the command line on something wrong, and return its one line."""
    out = tmp_path / "made" / "out"
    code = main([*args, "--out", str(out)])
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.startswith("flipcost: ")
    assert captured.err.count("\n") == 1, captured.err
    assert list(tmp_path.iterdir()) == []
    return captured.err


@pytest.mark.parametrize(("name", "options", "words"), FILES, ids=lambda value: str(value)[:40])
def test_a_bad_file_or_option_is_answered_in_one_line(name, options, words, tmp_path, capsys):
    """What is wrong is said in one line, with exit code 2 and nothing written."""
    args = ["audit", str(CORPUS / name), "--target", "ill", *PRICES, *options]
    assert words in refused(args, tmp_path, capsys)


@pytest.mark.parametrize(("name", "options", "words"), FILES, ids=lambda value: str(value)[:40])
def test_a_file_that_is_read_in_passes_is_refused_as_well(name, options, words, tmp_path, capsys):
    """The same mistakes are found without holding the file."""
    args = ["audit", str(CORPUS / name), "--target", "ill", *PRICES, *options]
    said = refused([*args, "--memory-share", "0", "--quiet"], tmp_path, capsys)
    assert words in said or (name == "three_classes.csv" and "'maybe', 'no', 'yes'" in said)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["audit", "no-such-file.csv", "--target", "ill", *PRICES], "does not exist"),
        (["audit", str(CORPUS), "--target", "ill", *PRICES], "binary.csv holds binary data"),
        (["audit", str(CORPUS / "good.csv"), "--target", "il", *PRICES], "did you mean 'ill'?"),
        (["audit", str(CORPUS / "good.csv"), "--target", "zzz", *PRICES], "Its columns are"),
        (["audit", str(CORPUS / "good.csv"), *PRICES], "--target"),
        (["audit", str(CORPUS / "good.csv"), "--target", "ill", "--cost-fp", "1"], "--cost-fn"),
        (["audit", "--example", "pimma"], "did you mean 'pima'?"),
        (["audit", str(CORPUS / "good.csv"), "--example", "pima"], "not both"),
        (["audit", str(CORPUS / "goood.csv"), "--target", "ill", *PRICES], "there is 'good.csv'"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_right_one(args, words, tmp_path, capsys):
    """Files, columns and examples that are not there are named, with what is there."""
    assert words in refused(args, tmp_path, capsys)


@pytest.mark.parametrize(
    ("fn", "fp"), [("-4", "1"), ("4", "-1"), ("0", "0"), ("4", "0"), ("nan", "1")]
)
def test_prices_must_be_positive(fn, fp, tmp_path, capsys):
    """Negative prices, and prices of zero, are refused."""
    args = ["audit", str(CORPUS / "good.csv"), "--target", "ill", "--cost-fn", fn, "--cost-fp", fp]
    assert "must be a number above 0" in refused(args, tmp_path, capsys)


WARNED = [
    ("rare_positive.csv", ["--cost-fn", "1", "--cost-fp", "4"], "swapped"),
    ("leak.csv", PRICES, "'diagnosis' gives 'ill' without a single error"),
    ("duplicate_names.csv", PRICES, "Two columns have the same name; the later one is"),
    ("leak_number.csv", PRICES, "'score' gives 'ill' without a single error"),
]


@pytest.mark.parametrize(("name", "prices", "words"), WARNED)
def test_what_looks_wrong_is_warned_of(name, prices, words, tmp_path, capsys):
    """Prices that look swapped and columns that tell the label are warned of in one line."""
    args = ["audit", str(CORPUS / name), "--target", "ill", *prices, "--quiet"]
    assert main([*args, "--out", str(tmp_path / "out")]) == 0
    err = capsys.readouterr().err
    assert sum(words in line for line in err.splitlines()) == 1
    assert all(line.startswith("flipcost: warning: ") for line in err.splitlines())
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(("name", "prices", "words"), WARNED)
def test_strict_stops_at_warnings(name, prices, words, tmp_path, capsys):
    """With --strict a warning is a mistake: exit code 2, nothing written."""
    args = ["audit", str(CORPUS / name), "--target", "ill", *prices, "--quiet", "--strict"]
    assert words in refused(args, tmp_path, capsys)


@pytest.mark.parametrize("name", ["all_missing.csv", "constant.csv", "many_categories.csv.gz"])
def test_unusable_columns_can_be_left_out(name, tmp_path, capsys):
    """With --drop-unusable such columns are left out with a warning."""
    args = ["audit", str(CORPUS / name), "--target", "ill", *PRICES, "--quiet", "--drop-unusable"]
    args += ["--out", str(tmp_path / "out")]
    assert main(args) == 0
    assert "left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("latin1.csv", ["--encoding", "latin-1"]),
        ("utf16.csv", ["--encoding", "utf-16"]),
        ("mixed_types.csv", ["--categorical", "dose", "--drop-unusable"]),
        ("mixed_types.csv", ["--drop", "dose"]),
        ("semicolons.csv", []),
    ],
)
def test_the_advice_works(name, options, tmp_path, capsys):
    """What the message says to do is enough."""
    args = ["audit", str(CORPUS / name), "--target", "ill", *PRICES, "--quiet", *options]
    assert main([*args, "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()


def test_an_output_folder_that_is_a_file(tmp_path, capsys):
    """A folder cannot be made where a file is, and the file is left alone."""
    (tmp_path / "taken").write_text("mine")
    args = ["audit", str(CORPUS / "good.csv"), "--target", "ill", *PRICES]
    for out in (tmp_path / "taken", tmp_path / "taken" / "below"):
        assert main([*args, "--out", str(out)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_output_folder_that_is_not_writable(tmp_path, capsys):
    """A folder without permission is refused before anything is computed."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    args = ["audit", str(CORPUS / "good.csv"), "--target", "ill", *PRICES, "--out", str(folder)]
    assert main(args) == 2
    assert "cannot be written to" in capsys.readouterr().err


def test_an_output_folder_in_a_place_that_takes_no_files(capsys):
    """Also root cannot make a folder in /proc."""
    if not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    args = [
        "audit",
        str(CORPUS / "good.csv"),
        "--target",
        "ill",
        *PRICES,
        "--out",
        "/proc/flipcost",
    ]
    assert main(args) == 2
    assert "cannot be" in capsys.readouterr().err


def command(*args):
    return [sys.executable, "-m", "flipcost", *args]


def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path):
    """When files cannot be written to their end, the folder is as it was before."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("the old one")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(
        command(
            *("audit", str(CORPUS / "good.csv"), "--target", "ill", *PRICES),
            *("--quiet", "--overwrite", "--out", out),
        ),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "cannot be written to" in done.stderr
    assert [path.name for path in out.iterdir()] == ["report.html"]
    assert (out / "report.html").read_text() == "the old one"


@pytest.mark.parametrize(
    "kind", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupt_leaves_nothing_behind(kind, tmp_path):
    """Ctrl-C in the middle: one line, exit code 2, nothing written."""
    out = tmp_path / "out"
    process = subprocess.Popen(
        command("audit", "--example", "pima", "--model", "boosting", "--out", str(out)),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 60
    while (
        not list(tmp_path.glob(".flipcost-*"))
        and process.poll() is None
        and time.monotonic() < limit
    ):
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(kind)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 2, stderr
    assert stderr.splitlines()[-1] == "flipcost: interrupted; nothing was written."
    assert "Traceback" not in stderr
    assert stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_fault_of_ours_is_owned_up_to(tmp_path, capsys, monkeypatch):
    """What is not the user's mistake is exit code 1, in one line, with nothing written."""

    def fail(_):
        msg = "no such thing"
        raise RuntimeError(msg)

    monkeypatch.setattr("flipcost.report.render.render_report", fail)
    args = ["audit", str(CORPUS / "good.csv"), "--target", "ill", *PRICES, "--quiet"]
    assert main([*args, "--out", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert "internal error" in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_corpus_is_what_the_script_writes(tmp_path, monkeypatch):
    """The files can be made again, byte for byte."""
    from tests.cli import make_corpus

    monkeypatch.setattr(make_corpus, "CORPUS", tmp_path)
    make_corpus.main()
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in CORPUS.iterdir()}
    assert made == kept
