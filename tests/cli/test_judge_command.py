"""`flipcost judge`: tables and results of other tools in, one screen and a small report out."""

import csv
import doctest
import json
import re
from pathlib import Path

import numpy as np
import pytest

from flipcost.cli import main

SHARE, MISS, ALARM = 0.6, 0.05, 0.3


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    true = rng.random(2000) < SHARE
    said = np.where(true, rng.random(2000) >= MISS, rng.random(2000) < ALARM)
    seen = rng.random(2000) < 0.1
    words = ("fail", "pass")
    return [
        {
            "text": f"<b>item</b> {k}",
            "model": words[s],
            "me": words[t] if x else "",
            "true": words[t],
        }
        for k, (t, s, x) in enumerate(zip(true.tolist(), said.tolist(), seen, strict=True))
    ]


@pytest.fixture
def table(rows, tmp_path):
    return write(tmp_path / "answers.csv", rows)


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def judged(path, tmp_path, *options, out="out"):
    """Run the command, and return what it found."""
    folder = tmp_path / out
    args = ["judge", str(path), *options, "--quiet", "--out", str(folder)]
    assert main(args) == 0
    return json.loads((folder / "summary.json").read_text())


def inside(interval, truth):
    return interval["low"] <= truth <= interval["high"]


def test_the_screen_answers_in_one_sentence(table, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["judge", str(table), "--judge", "model", "--human", "me", "--out", out]) == 0
    screen = capsys.readouterr().out
    assert screen.splitlines()[2] == (
        'Best estimate: 60% (54 to 65%) of the rows are truly "pass"; the judge says 69%.'
    )
    assert screen.splitlines()[3].startswith("  The judge misses ")
    assert len(screen.splitlines()) < 12
    page = (tmp_path / "out" / "report.html").read_text()
    assert "60% (54 to 65%)" in page


def test_rows_to_label_are_handed_out_and_read_back(table, rows, tmp_path):
    """A round of fifty answers narrows the interval, and the next round has other rows."""
    names = ("--judge", "model", "--human", "me")
    first = judged(table, tmp_path, *names)
    path = tmp_path / "out" / "recheck.csv"
    with path.open(newline="") as file:
        batch = list(csv.DictReader(file))
    assert [int(row["row"]) for row in batch] == first["next_rows"]
    assert "me" not in batch[0]
    for row in batch:
        row["checked"] = rows[int(row["row"]) - 1]["true"]
    second = judged(table, tmp_path, *names, "--checked", str(write(path, batch)), out="second")
    assert not set(first["next_rows"]) & set(second["next_rows"])
    assert np.sum(second["human_labels"]) == np.sum(first["human_labels"]) + 50
    assert inside(second["share"], SHARE)


def test_two_systems_are_compared(rows, tmp_path, capsys):
    """The second system, judged and labelled on the same rows, is better by what it is better."""
    rng = np.random.default_rng(1)
    more = [
        row | {"other": "pass" if better else row["model"], "you": row["me"] and "pass"}
        if better
        else row | {"other": row["model"], "you": row["me"]}
        for row, better in zip(rows, rng.random(2000) < 0.5, strict=True)
    ]
    path = write(tmp_path / "two.csv", more)
    names = ["--judge", "model", "--human", "me", "--compare", "other", "--human2", "you"]
    found = judged(path, tmp_path, *names)
    assert inside(found["difference"], (1 - SHARE) / 2)
    assert found["difference"]["low"] > 0
    said = []
    for order in (names, [names[k] for k in (0, 5, 2, 7, 4, 1, 6, 3)]):
        capsys.readouterr()
        args = ["judge", str(path), *order, "--out", str(tmp_path / f"again{len(said)}")]
        assert main(args) == 0
        said.append(" ".join(capsys.readouterr().out.split()))
    # Whichever comes first, the better one is named as such.
    assert all('"other" has ' in text and 'more truly "pass" rows' in text for text in said)


def test_results_of_promptfoo_are_read(rows, tmp_path):
    """What people rated in the viewer is the human label; errors of a provider are left out."""
    results = []
    for k, row in enumerate(rows[:600]):
        parts = [{"pass": row["model"] == "pass", "assertion": {"type": "llm-rubric"}}]
        if row["me"]:
            parts.append({"pass": row["me"] == "pass", "assertion": {"type": "human"}})
        results.append(
            {"testIdx": k, "promptIdx": 0, "vars": {"text": row["text"], "deep": {}}}
            | {"success": (row["me"] or row["model"]) == "pass", "score": 1.0}
            | {"gradingResult": {"componentResults": parts}}
        )
    results.append({"testIdx": 600, "promptIdx": 0, "success": False, "failureReason": 2})
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}))
    found = judged(path, tmp_path)
    plain = judged(
        write(tmp_path / "t.csv", rows[:600]),
        tmp_path,
        "--judge",
        "model",
        "--human",
        "me",
        out="b",
    )
    assert found["share"] == plain["share"]
    assert found["positive"] == "pass"


def test_exports_of_label_studio_are_read(rows, tmp_path):
    """The prediction is the judge's label, the annotation a person's, the ground truth before."""

    def answer(label, **more):
        return more | {"result": [{"from_name": "ok", "value": {"choices": [label]}}]}

    tasks = []
    for k, row in enumerate(rows[:600]):
        task = {"id": k, "data": {"text": row["text"]}, "annotations": []}
        task["predictions"] = [answer(row["model"], score=0.5 + k / 2000)]
        if row["me"]:
            other = "fail" if row["me"] == "pass" else "pass"
            right = answer(row["me"], completed_by=1, ground_truth=True)
            task["annotations"] = [right, answer(other, completed_by={"email": "a@b"})]
            task["annotations"].append(answer(other, was_cancelled=True))
        tasks.append(task)
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    found = judged(path, tmp_path)
    plain = judged(
        write(tmp_path / "t.csv", rows[:600]),
        tmp_path,
        "--judge",
        "model",
        "--human",
        "me",
        out="b",
    )
    assert found["human_labels"] == plain["human_labels"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--judge and --human"),
        (["--judge", "modl", "--human", "me"], "did you mean 'model'?"),
        (["--judge", "me", "--human", "model"], "with a human label"),
        (["--judge", "text", "--human", "me"], "must hold two classes"),
        (["--judge", "model", "--human", "none"], "no human label"),
        (["--judge", "model", "--human", "me", "--positive", "ok"], "--positive must be one of"),
        (["--judge", "model", "--human", "me", "--confidence", "text"], "must hold numbers"),
        (["--judge", "model", "--human", "me", "--inclusion", "zero"], "above 0"),
        (["--judge", "model", "--human", "me", "--compare", "me"], "--human2"),
    ],
)
def test_mistakes_are_answered_in_one_line(options, words, rows, tmp_path, capsys):
    path = write(tmp_path / "t.csv", [row | {"none": "", "zero": 0} for row in rows])
    assert main(["judge", str(path), *options, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert words in said.err
    assert not (tmp_path / "out").exists()


def test_an_audit_without_columns_leads_here(table, tmp_path, capsys):
    """Labels of a judge beside human ones need no columns, and an audit says where they go."""
    drop = ["--drop", "text", "--drop", "true", "--trusted", "me"]
    args = ["audit", str(table), "--target", "model", *drop, "--out", str(tmp_path / "out")]
    assert main(args) == 2
    assert "flipcost judge" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1]", '{"results": 3}', "nonsense", '{"a": [['])
def test_json_that_is_none_is_answered_in_one_line(text, tmp_path, capsys):
    path = tmp_path / "a.json"
    path.write_text(text)
    assert main(["judge", str(path), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_guide_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    """The first chapter of the guide, as a table and from the command line."""
    guide = Path(__file__).parents[2] / "docs" / "guide" / "judge.md"
    blocks = re.findall(r"```(?:pycon|console)\n(.*?)```", guide.read_text("utf-8"), re.DOTALL)
    code, shown = blocks[:2]
    made = {}
    for example in doctest.DocTestParser().get_examples(code)[:8]:
        exec(example.source, made)
    words = np.array(["fail", "pass", ""])
    found = np.nan_to_num(made["human"], nan=2).astype(int)
    rows = zip(words[made["judged"].astype(int)], words[found], strict=True)
    monkeypatch.chdir(tmp_path)
    write(Path("answers.csv"), [{"model": model, "me": me} for model, me in rows])
    command, _, expected = shown.partition("\n")
    assert main(command.split()[2:]) == 0
    assert capsys.readouterr().out.startswith(expected)
