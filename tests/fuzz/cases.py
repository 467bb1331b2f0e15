"""One case: an input made from a seed, what is done with it, and what may not happen."""

import contextlib
import functools
import io
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import sqlglot

import flipcost as fc
from flipcost.cli import main
from flipcost.core import ClassMoments, solve
from flipcost.exceptions import FlipCostError
from tests.fuzz import answers, files, numbers, options, oracles, tables
from tests.fuzz.oracles import Fault

AUDIT = ["--target", "ill", "--cost-fn", "5", "--cost-fp", "1", "--model", "linear", "--quiet"]
# What a column can be for; a damaged table is audited with one of these.
ROLES = [
    ["--drop", "key"],
    ["--drop-unusable"],
    ["--id", "key", "--drop-unusable"],
    ["--id", "seen", "--drop", "key", "--drop-unusable"],
    ["--sample-weight", "w", "--drop-unusable"],
    ["--second-label", "again", "--drop", "key", "--drop-unusable"],
    ["--trusted", "checked", "--drop", "key", "--drop-unusable"],
    ["--categorical", "dose", "--drop-unusable", "--positive", "yes"],
    ["--memory-share", "0", "--drop-unusable"],
    ["--group", "town", "--drop", "key", "--drop-unusable"],
    ["--time", "seen", "--drop", "key", "--drop-unusable"],
    ["--by", "town", "--drop", "key", "--drop-unusable"],
    ["--cost-fn", "5*w+1", "--drop", "key", "--drop-unusable"],
    ["--cost-fn", "3..8", "--capacity", "10%", "--drop", "key", "--drop-unusable"],
    ["--capacity", "5", "--capacity-by", "town", "--drop", "key", "--drop-unusable"],
    ["--score", "age"],
    ["--score", "w", "--score-kind", "probability"],
    ["--worker", "town", "--item", "key", "--drop-unusable"],
    ["--worker", "town", "--item", "dose", "--drop-unusable"],
    ["--annotators", "again,checked", "--target", "y", "--drop", "key", "--drop-unusable"],
    ["--annotators", "again,ill,checked", "--target", "y", "--id", "key", "--drop-unusable"],
    ["--prevalence", "0.1,0.6", "--noise-model", "symmetric", "--drop-unusable"],
]
# How predictions are asked for.
PREDICTIONS = [
    [],
    [],
    ["--id", "key"],
    ["--keep-columns"],
    ["--capacity", "5"],
    ["--capacity", "5%", "--capacity-by", "town"],
]


def run_case(kind, seed, folder):
    """Make the input of a case in an empty folder, use it, and raise `Fault` on what may not be.

    Returns a word for what became of it: "taken" or "refused".
    """
    return CASES[kind](np.random.default_rng([seed, sum(map(ord, kind))]), Path(folder))


def command(args):
    """Run a command; return its exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(args)
    oracles.check_words(code, out.getvalue(), err.getvalue())
    return code, out.getvalue()


def audit_file(path, folder, extra=(), besides=()):
    """Audit a table, and predict its rows by what was learned."""
    out = folder / "out"
    code, _ = command(["audit", str(path), *AUDIT, *extra, "--out", str(out)])
    if code:
        oracles.check_folder(folder, {path.name, *besides})
        return "refused"
    summary = oracles.check_results(out)
    if predict_by(out / "model.json", path, folder, {"out", *besides}) == "taken":
        rows = oracles.check_predictions(folder / "p.csv")
        # Of annotators there are items, those with a label.
        if summary["annotators"] is None and rows != summary["data"]["rows_in_table"]:
            raise Fault(f"{rows} predictions of {summary['data']['rows_in_table']} rows")
    return "taken"


def predict_by(model, path, folder, besides=(), extra=()):
    """Predict the rows of a table."""
    out = folder / "p.csv"
    code, _ = command(["predict", str(model), str(path), "--quiet", "--out", str(out), *extra])
    oracles.check_folder(folder, {path.name, *besides} | (set() if code else {"p.csv"}))
    if code:
        return "refused"
    oracles.check_predictions(out)
    return "taken"


@functools.cache
def good_files():
    """Return the bytes of a good table and of models learned from it, by the name of the kind."""
    rng = np.random.default_rng(7)
    data, _ = tables.csv_bytes(rng, damage=False)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "a.csv").write_bytes(data)
        found = {"table": data}
        for name in ("linear", "boosting"):
            args = ["audit", str(folder / "a.csv"), *AUDIT, "--drop", "key", "--model", name]
            if command([*args, "--out", str(folder / name)])[0]:
                raise AssertionError(name)
            found[name] = (folder / name / "model.json").read_bytes()
        for name in ("recheck.csv", "recheck-pool.parquet"):
            found[name] = (folder / "linear" / name).read_bytes()
        X = rng.normal(size=(90, 3))
        y = X[:, 0] + rng.normal(size=90) > 0
        fc.save(fc.UnevenMarginClassifier().fit(X, y), folder / "m")
        found["small"] = (folder / "m").read_bytes()
    return found


def _csv(rng, folder):
    data, suffix = tables.csv_bytes(rng)
    path = folder / f"a{suffix}"
    path.write_bytes(data)
    return audit_file(path, folder, ROLES[int(rng.integers(len(ROLES)))])


def _parquet(rng, folder):
    path = folder / "a.parquet"
    path.write_bytes(tables.parquet_bytes(rng))
    return audit_file(path, folder, ROLES[int(rng.integers(len(ROLES)))])


def _predict(rng, folder):
    if rng.random() < 0.5:
        data, suffix = tables.csv_bytes(rng)
    else:
        data, suffix = tables.parquet_bytes(rng), ".parquet"
    path = folder / f"a{suffix}"
    path.write_bytes(data)
    return predict_file(path, folder, PREDICTIONS[int(rng.integers(len(PREDICTIONS)))])


def predict_file(path, folder, extra=()):
    """Predict the rows of a table by a good model."""
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "m.json"
        model.write_bytes(good_files()["linear"])
        return predict_by(model, path, folder, extra=extra)


def _options(rng, folder):
    with tempfile.TemporaryDirectory() as place:
        table, model = Path(place) / "a.csv", Path(place) / "m.json"
        table.write_bytes(good_files()["table"])
        model.write_bytes(good_files()["linear"])
        names = {"TABLE": str(table), "MODEL": str(model)}
        args = [names.get(arg, arg) for arg in options.option_list(rng)]
        out = folder / "out"
        code, text = command(["audit", str(table), *args, "--quiet", "--out", str(out)])
        if code or not out.exists():
            oracles.check_folder(folder, set())
            return "refused"
        oracles.check_results(out)
        if "--json" in args:
            oracles.strict_json(text)
        return "taken"


def _model(rng, folder):
    name = str(rng.choice(["linear", "boosting", "small"]))
    path = folder / "m.json"
    path.write_bytes(files.model_bytes(rng, good_files()[name]))
    return load_model(path, folder)


def load_model(path, folder):
    """Load a model file, watched, and predict by what came of it."""
    good_files()  # whatever must be imported is imported now
    events, model = [], None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with contextlib.suppress(FlipCostError), oracles.watch() as events:
            model = fc.load(path)
        oracles.check_events(events)
        if model is None:
            return "refused"
        with contextlib.suppress(FlipCostError, ValueError, TypeError):
            X = np.random.default_rng(0).normal(size=(20, len(model.columns)))
            oracles.check_finite(model.predict_proba(X), "a probability")
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "a.csv"
        table.write_bytes(good_files()["table"])
        out = Path(place) / "p.csv"
        code, _ = command(["predict", str(path), str(table), "--quiet", "--out", str(out)])
        if code:
            return "refused"
        oracles.check_predictions(out)
    return "taken"


def _moments(rng, folder):
    data = files.moments_bytes(rng, folder)
    path = folder / "forged"
    path.write_bytes(data)
    return load_moments(path, folder)


def load_moments(path, folder):
    """Load a file of moments, watched, and merge and solve what came of it."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with oracles.watch() as events:
                moments = ClassMoments.load(path)
        except ValueError as error:
            oracles.check_events(events)
            oracles.check_words(2, "", f"flipcost: {error}")
            return "refused"
        oracles.check_events(events)
        with contextlib.suppress(ValueError):
            merged = moments.merge(moments)
            oracles.check_finite(solve(merged, 0.5, 1.0, 0.1), "a coefficient")
    return "taken"


def _numbers(rng, folder):
    return numbers.fit_numbers(rng)


def _answers(rng, folder):
    return answers.answer_numbers(rng)


def _checked(rng, folder):
    path = answers.named(folder, *answers.checked_bytes(rng, good_files()["recheck.csv"]))
    return audit_checked(path, folder) if rng.random() < 0.3 else recheck_by(path, folder)


def recheck_by(path, folder, pool=None):
    """Choose the next rows, given a file of checked ones, from a pool that may be forged."""
    out = folder / "out"
    out.mkdir()
    (out / "recheck-pool.parquet").write_bytes(pool or good_files()["recheck-pool.parquet"])
    given = [] if path is None else ["--checked", str(path)]
    code, text = command(["recheck", str(out), "--n", "20", "--json", *given])
    if code:
        oracles.check_folder(out, {"recheck-pool.parquet"})
        return "refused"
    oracles.strict_json(text)
    oracles.check_folder(out, {"recheck-pool.parquet", "recheck.csv"})
    return "taken"


def audit_checked(path, folder):
    """Audit the good table with a file of checked rows."""
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "a.csv"
        table.write_bytes(good_files()["table"])
        return audit_file(table, folder, ["--drop", "key", "--checked", str(path)], {path.name})


def _pool(rng, folder):
    return recheck_by(None, folder, answers.pool_bytes(rng, good_files()["recheck-pool.parquet"]))


def _judge(rng, folder):
    path = answers.named(folder, *answers.judged_bytes(rng), "judged")
    extra = answers.JUDGE_OPTIONS[int(rng.integers(len(answers.JUDGE_OPTIONS)))]
    return judge_by(path, folder, extra)


def judge_by(path, folder, extra=()):
    """Have `flipcost judge` read a file."""
    given = list(extra)
    for name in ("judge", "human"):
        if f"--{name}" not in given and path.suffix != ".json":
            given += [f"--{name}", name]
    out = folder / "out"
    code, _ = command(["judge", str(path), *given, "--out", str(out), "--quiet"])
    if code:
        oracles.check_folder(folder, {path.name})
        return "refused"
    answers.check_judged(oracles.strict_json((out / "summary.json").read_text("utf-8")))
    if "<script>alert(1)" in (out / "report.html").read_text("utf-8"):
        raise Fault("a cell is in the report as it came")
    return "taken"


def _export(rng, folder):
    """Write a model with forged names as SQL: one SELECT that calls nothing of theirs."""
    content = json.loads(good_files()[str(rng.choice(["linear", "boosting", "small"]))])
    text = str(rng.choice([*tables.ODD, 'x" FROM y; DROP TABLE z; --', "a`b", "read_text('/x')"]))
    before, text_json = json.dumps(content), json.dumps(text)
    old = str(rng.choice(["age", "town", "Lyon", "yes", "seen", "x0"]))
    path = folder / "m.json"
    path.write_text(before.replace(f'"{old}"', text_json), encoding="utf-8")
    to = str(rng.choice(["sql", "sql", "sql", "onnx", "json"]))
    dialect = str(rng.choice(["duckdb", "postgres", "spark", "bigquery", "snowflake", "x"]))
    asked = ["--table", str(rng.choice(["rows", text, "a.b", ""])), "--dialect", dialect]
    if rng.random() < 0.3:
        asked += ["--keep", text]
    out = folder / "made"
    code, _ = command(["export", str(path), "--to", to, *asked, "--out", str(out), "--quiet"])
    oracles.check_folder(folder, {"m.json"} | (set() if code else {"made"}))
    if code:
        return "refused"
    if to == "sql":
        found = sqlglot.parse(out.read_text("utf-8"), read=dialect)
        if len(found) != 1 or not isinstance(found[0], sqlglot.exp.Select | sqlglot.exp.With):
            raise Fault(f"not one SELECT: {[type(part) for part in found]}")
        if any(found[0].find_all(sqlglot.exp.Drop, sqlglot.exp.Command)):
            raise Fault("a statement of someone else's")
    return "taken"


CASES = {
    "csv": _csv,
    "parquet": _parquet,
    "predict": _predict,
    "options": _options,
    "model": _model,
    "moments": _moments,
    "numbers": _numbers,
    "answers": _answers,
    "checked": _checked,
    "pool": _pool,
    "judge": _judge,
    "export": _export,
}
