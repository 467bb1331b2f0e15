"""The audit of files in passes: what memory finds, on more rows than it could hold."""

import csv
import gzip
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from flipcost.audit import _sources, audit, audit_files
from flipcost.audit._sources import RowBuilder
from flipcost.core.clean_means import LabelSums
from flipcost.core.costs import RowCosts
from flipcost.core.decision import bayes_flags
from flipcost.exceptions import SourceError, TableError
from flipcost.noise import flip_labels
from flipcost.recheck import CheckedRow
from flipcost.tables.roles import Roles
from flipcost.tables.rows import Piece
from tests.audit.helpers import PRICES, noisy_table
from tests.tables.cluster import local_cluster


def rich_table(n=6000, seed=0):
    """Return a table with a category, a missing value now and then, names and weights."""
    rng = np.random.default_rng(seed)
    table = noisy_table(n, seed=seed).drop_columns("truth")
    town = rng.choice(["Lyon", "Nice", "Paris"], n, p=[0.5, 0.3, 0.2]).astype(object)
    town[rng.random(n) < 0.02] = None
    x0 = table["x0"].to_numpy().astype(object)
    x0[rng.random(n) < 0.02] = None
    table = table.set_column(0, "x0", pa.array(x0.tolist(), pa.float64()))
    table = table.append_column("town", pa.array(town.tolist()))
    table = table.append_column("name", pa.array([f"row {k}" for k in range(n)]))
    return table.append_column("w", pa.array(rng.integers(1, 4, n)))


def _parquet(table, folder):
    pq.write_table(table, folder / "a.parquet", row_group_size=700)
    return {"source": folder / "a.parquet"}


def _folder(table, folder):
    for k in range(3):
        pq.write_table(table.slice(k * 2000, 2000), folder / f"{k}.parquet")
    return {"source": folder}


def _pattern(table, folder):
    _folder(table, folder)
    return {"source": folder / "*.parquet"}


def _csv(table, folder):
    pc.write_csv(table, folder / "a.csv")
    return {"source": folder / "a.csv"}


def _packed(table, folder):
    source = _csv(table, folder)["source"]
    (folder / "a.csv.gz").write_bytes(gzip.compress(source.read_bytes()))
    return {"source": folder / "a.csv.gz"}


def _semicolons(table, folder):
    with (folder / "a.txt").open("w", newline="", encoding="latin-1") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(table.column_names)
        for row in table.to_pylist():
            cells = [str(v).replace(".", ",") if isinstance(v, float) else v for v in row.values()]
            writer.writerow(cells)
    return {"source": folder / "a.txt", "encoding": "latin-1"}


FORMS = {f.__name__: f for f in (_parquet, _folder, _pattern, _csv, _packed, _semicolons)}
OPTIONS = {"id": "name", "sample_weight": "w"}


@pytest.fixture(scope="module")
def table():
    return rich_table()


@pytest.fixture(scope="module")
def memory(table):
    return audit(table, "ill", PRICES, **OPTIONS)


@pytest.fixture(scope="module")
def by_form(table, tmp_path_factory):
    """Return the audit of every form of the same rows, made when asked for."""
    made = {}

    def result(form):
        if form not in made:
            folder = tmp_path_factory.mktemp(form)
            made[form] = audit_files(
                target="ill", cost=PRICES, **FORMS[form](table, folder), **OPTIONS
            )
        return made[form]

    return result


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_the_same_audit(form, by_form):
    """Files, folders, patterns, text and Parquet: the same rows, folds and findings."""
    found, expected = by_form(form).summary(), by_form("_parquet").summary()
    assert found["data"] | {"name": ""} == expected["data"] | {"name": ""}
    assert found["noise_rate"]["of_positives"] == pytest.approx(
        expected["noise_rate"]["of_positives"], abs=1e-9
    )
    for ours, theirs in zip(found["candidates"], expected["candidates"], strict=True):
        assert ours["key"] == theirs["key"]
        for name in ("cost_observed", "cost_clean", "saving_of_chosen"):
            assert ours[name] == pytest.approx(theirs[name], abs=1e-6)
    assert [s.row for s in by_form(form).suspects] == [s.row for s in by_form("_parquet").suspects]


def test_files_give_what_memory_gives(by_form, memory):
    """Of rows that are all drawn, the audit is that of the same rows in memory."""
    result = by_form("_csv")
    assert result.n_rows == memory.n_rows == result.n_rows_total
    assert result.n_positive == memory.n_positive
    assert result.chosen == memory.chosen
    assert result.noise_rate == pytest.approx(memory.noise_rate)
    for ours in result.candidates:
        theirs = memory.candidate(ours.key)
        for name in ("observed", "clean", "saving"):
            assert getattr(ours, name).value == pytest.approx(getattr(theirs, name).value)
    assert [s.row for s in result.suspects] == [s.row for s in memory.suspects]


def test_the_report_says_what_the_classifier_says(tmp_path):
    """Costs of the chosen model and of the constants are those of the classifier, sliders too."""
    pq.write_table(noisy_table(60_000).drop_columns("truth"), tmp_path / "a.parquet")
    result = audit_files(tmp_path / "a.parquet", "ill", PRICES, max_rows=4000)
    classifier = result.model[-1]
    best, unit = result.best.clean, result.unit
    assert (unit * best.value, unit * best.low, unit * best.high) == pytest.approx(
        (classifier.cost_estimate_, *classifier.cost_interval_)
    )
    for key, interval in classifier.constant_costs_.items():
        found = result.candidate(key).clean
        assert (unit * found.value, unit * found.low, unit * found.high) == pytest.approx(
            (interval.value, interval.low, interval.high)
        )
    table = result.best.table(result.cost_index)
    at_slider = LabelSums.of_table(table, RowCosts.of(result.cost)).mean(
        result.posterior, result.level
    )
    assert (at_slider.low, at_slider.high) == pytest.approx((best.low, best.high))


def test_suspects_name_rows_of_the_file(by_form, table):
    """Row numbers, names and labels are those of the file, in every form."""
    for form in ("_folder", "_packed"):
        for suspect in by_form(form).suspects:
            row = table.slice(suspect.row, 1).to_pylist()[0]
            assert (row["name"], row["ill"]) == (suspect.id, suspect.label)


def test_known_clean_labels_judge_in_passes_as_in_memory(tmp_path):
    """Where all rows are drawn, what the clean labels of the same rows tell is exact."""
    table = noisy_table(3000)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    found = audit_files(tmp_path / "a.parquet", "ill", PRICES, truth="truth")
    expected = audit(table, "ill", PRICES, truth="truth")
    wrong = int(np.sum(np.array(table["truth"]) != np.array(table["ill"])))
    assert found.known_flips["wrong_labels"] == expected.known_flips["wrong_labels"] == wrong
    labels = {k: table[k].to_pylist() for k in ("truth", "ill")}
    first = [s.row for s in found.suspects[:100]]
    flipped = sum(labels["truth"][k] != labels["ill"][k] for k in first)
    assert found.known_flips["wrong_in_first_100"] == flipped
    for key in ("all_positive", "all_negative"):
        ours, theirs = found.candidate(key).test, expected.candidate(key).test
        assert (ours.value, ours.low) == pytest.approx((theirs.value, theirs.low))


def test_the_model_predicts_from_tables(by_form, table):
    """The saved pipeline reads the columns of the file."""
    result = by_form("_csv")
    assert set(result.model.predict(table)) <= {"no", "yes"}


def test_more_rows_than_are_drawn_count(tmp_path):
    """Constants come from all rows; intervals own up to the sample.

    Costs on drawn rows are compared with the truth, at four standard errors.
    """
    table = noisy_table(60_000, rate=0.2)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=7000)
    options = {"drop": ("truth",), "model": "linear"}
    few = audit_files(tmp_path / "a.parquet", "ill", PRICES, max_rows=4000, **options)
    whole = audit(table, "ill", PRICES, **options)
    assert few.n_evaluated == 4000
    assert few.n_rows == 60_000
    for (low, high), rate in zip(few.noise_interval, whole.noise_rate, strict=True):
        assert low <= rate <= high
    assert any("Learned from 4,000 of 60,000 rows" in warning for warning in few.warnings)
    assert len({s.row for s in few.suspects} & {s.row for s in whole.suspects}) > 60
    for key in ("all_positive", "all_negative"):
        assert few.candidate(key).clean.value == pytest.approx(
            whole.candidate(key).clean.value, rel=0.01
        )
    truth = np.array(table["truth"]) == "yes"
    flagged = few.model.predict(table) == "yes"
    # Flagged rows are counted in all: out of fold in the sample, by the model elsewhere.
    classifier = few.model[-1]
    others = np.delete(flagged, classifier.sample_.position)
    in_sample = bayes_flags(classifier.oof_probability_, PRICES, classifier.chosen_)
    assert few.models.n_flagged == others.sum() + in_sample.sum()
    cost = np.mean(np.where(truth, PRICES.fn * ~flagged, PRICES.fp * flagged)) / few.unit
    best = few.best.clean
    assert abs(best.value - cost) < 4 * (best.high - best.low) / (2 * 1.96)
    assert few.information.wrong_labels == pytest.approx(0.2 * 60_000, rel=0.15)


def test_rows_without_a_label_are_left_out(tmp_path):
    """Whole pieces without labels, and single rows, are counted and not learned from."""
    table = noisy_table(3000).drop_columns("truth")
    labels = table["ill"].to_pylist()
    labels[500:1200] = [None] * 700
    labels[7] = None
    blank = table.set_column(3, "ill", pa.array(labels))
    pq.write_table(blank, tmp_path / "a.parquet", row_group_size=100)
    result = audit_files(tmp_path / "a.parquet", "ill", PRICES)
    held = audit(blank, "ill", PRICES)
    assert result.n_rows == held.n_rows == 3000 - 701
    assert result.n_rows_total == 3000
    assert "701 rows have no label and were left out." in result.warnings
    assert not {s.row for s in result.suspects} & {7, *range(500, 1200)}
    assert result.n_positive == held.n_positive == labels.count("yes")
    for rate, (low, high) in zip(result.noise_rate, held.noise_interval, strict=True):
        assert low <= rate <= high


@pytest.mark.slow
def test_trusted_and_second_labels_are_counted_in_all_rows(tmp_path):
    """A few trusted labels among many rows are not lost to sampling."""
    table = noisy_table(8000, rate=0.2)
    rng = np.random.default_rng(77)
    truth = table["truth"].to_numpy(zero_copy_only=False)
    known = rng.random(8000) < 0.03
    trusted, n_right = np.where(known, truth, None), int(known.sum())
    second = flip_labels(truth.astype(str), 0.2, random_state=5)
    table = table.drop_columns("truth").append_column("checked", pa.array(trusted.tolist()))
    table = table.append_column("again", pa.array(second.tolist()))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    for role, other in (("trusted", "again"), ("second_label", "checked")):
        column = {"trusted": "checked", "second_label": "again"}[role]
        options = {role: column, "drop": (other,), "max_rows": 400, "model": "linear"}
        found = audit_files(tmp_path / "a.parquet", "ill", PRICES, **options)
        expected = audit(table, "ill", PRICES, **{**options, "max_rows": 200_000})
        assert found.noise_source == expected.noise_source
        assert found.n_checked == expected.n_checked == (n_right if role == "trusted" else 0)
        ours = np.atleast_1d(found.noise_rate)
        low, high = np.reshape(expected.noise_interval, (-1, 2)).T
        assert np.all((low <= ours) & (ours <= high))


@pytest.mark.parametrize("form", ["a.csv", "a.parquet"])
def test_what_a_look_missed_is_refused_with_its_place(form, tmp_path, monkeypatch):
    """A word among numbers that was not drawn, and a third label: the column is named."""
    monkeypatch.setattr(_sources, "_LOOK_ROWS", 160)
    table = noisy_table(40_000).drop_columns("truth")
    path = tmp_path / form

    def write(column, value):
        values = [str(v) for v in table[column].to_pylist()]
        values[20_123] = value
        place = table.column_names.index(column)
        changed = table.set_column(place, column, pa.array(values))
        if form == "a.csv":
            pc.write_csv(changed, path)
        else:
            pq.write_table(changed, path, row_group_size=1500)

    write("x1", "twelve")
    with pytest.raises(SourceError, match=rf"{form}.*Column 'x1' held numbers"):
        audit_files(path, "ill", PRICES, max_rows=2_000)
    write("ill", "maybe")
    with pytest.raises(TableError, match=r"'ill' must hold two classes; .*'maybe', 'no', 'yes'"):
        audit_files(path, "ill", PRICES)


def test_a_rare_label_that_a_look_missed_is_found(tmp_path, monkeypatch):
    """Labels are taken from all rows, not from those looked at."""
    monkeypatch.setattr(_sources, "_LOOK_ROWS", 160)
    rng = np.random.default_rng(0)
    labels = np.repeat("no", 30_000).astype(object)
    labels[15_100:15_180] = "yes"
    x = rng.normal(size=30_000) + 3 * (labels == "yes")
    pq.write_table(
        pa.table({"x": x, "ill": labels.tolist()}), tmp_path / "a.parquet", row_group_size=2000
    )
    result = audit_files(tmp_path / "a.parquet", "ill", PRICES)
    assert (result.n_positive, result.positive) == (80, "yes")


def test_labels_that_are_numbers_are_ordered_as_numbers(tmp_path):
    """The larger number is positive, 10 above 9, and 9.0 is 9."""
    table = noisy_table(2000).drop_columns("truth")
    positive = np.array(table["ill"]) == "yes"
    text = np.where(positive, "10", "9").astype(object)
    text[::2] = np.where(positive[::2], "10.0", "9.0")
    pc.write_csv(table.set_column(3, "ill", pa.array(text.tolist())), tmp_path / "a.csv")
    result = audit_files(tmp_path / "a.csv", "ill", PRICES)
    assert (result.negative, result.positive) == ("9", "10")
    other = audit_files(tmp_path / "a.csv", "ill", PRICES, pos_label="9")
    assert other.positive == "9"


def test_columns_that_number_the_rows_are_left_out(tmp_path):
    """A counter says nothing of the rows, in passes too."""
    table = noisy_table(3000, number=np.arange(3000)).drop_columns("truth")
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=500)
    result = audit_files(tmp_path / "a.parquet", "ill", PRICES)
    assert [c["name"] for c in result.schema] == ["x0", "x1", "x2"]
    assert any("number" in w for w in result.warnings)


def test_a_test_file_and_a_saved_model_are_compared(by_form, table, tmp_path):
    """Clean rows and a model made before are used as in memory."""
    first = by_form("_csv")
    clean = noisy_table(2000, rate=0.0, seed=9)
    clean = clean.append_column("town", pa.array(["Nice"] * 2000)).drop_columns("truth")
    assert first.candidate("logistic").test is None
    form = _csv(table, tmp_path)
    result = audit_files(
        target="ill", cost=PRICES, **form, **OPTIONS, test=clean, model=first.model
    )
    assert result.n_test == 2000
    for candidate in result.candidates:
        assert candidate.test is not None
    # The model saved before has not seen that the test rows are evidence of label errors.
    assert result.best.clean.low < result.candidate("saved").clean.value < result.best.clean.high


def test_what_cannot_be_done_in_passes_is_refused(tmp_path):
    """Nothing to learn from, no files; boosting and a folder of text can be."""
    table = noisy_table(300).drop_columns("truth")
    pq.write_table(table, tmp_path / "a.parquet")
    boosted = audit_files(tmp_path / "a.parquet", "ill", PRICES, model="boosting")
    assert boosted.n_rows == 300
    with pytest.raises(TableError, match="no columns left"):
        audit_files(tmp_path / "a.parquet", "ill", PRICES, drop=("x0", "x1", "x2"))
    with pytest.raises(TableError, match="did you mean 'x1'"):
        audit_files(tmp_path / "a.parquet", "ill", PRICES, categorical=("x11",))
    with pytest.raises(TableError, match="no file at"):
        audit_files(tmp_path / "*.csv", "ill", PRICES)
    (tmp_path / "text").mkdir()
    pc.write_csv(table, tmp_path / "text" / "a.csv")
    assert audit_files(tmp_path / "text", "ill", PRICES).n_rows == 300
    pq.write_table(table.slice(0, 0), tmp_path / "none.parquet")
    with pytest.raises(TableError, match="no rows"):
        audit_files(tmp_path / "none.parquet", "ill", PRICES)


@pytest.mark.parametrize("form", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_file_that_changes_between_the_passes_is_refused(form, is_gone, tmp_path, monkeypatch):
    """The second pass must read the rows of the first."""
    table = noisy_table(3000).drop_columns("truth")
    path = tmp_path / form

    def write(table):
        pc.write_csv(table, path) if form == "a.csv" else pq.write_table(table, path)

    write(table)
    draw = _sources.FilesInPasses.draw

    def meddle(*args):
        found = draw(*args)
        path.unlink() if is_gone else write(table.slice(0, 2500))
        return found

    monkeypatch.setattr(_sources.FilesInPasses, "draw", meddle)
    with pytest.raises(SourceError, match=f"{form}'? (changed while|must stay|cannot be read)"):
        audit_files(path, "ill", PRICES, max_rows=1_000)


def test_facts_merge_in_any_split():
    """Counts of pieces add up to those of the whole."""
    table = rich_table(500)
    maker = RowBuilder(Roles("ill", second_label=("town",), sample_weight="w"), ["x0", "x1"])

    def facts(start, stop):
        return maker.read(Piece("part", start, table.slice(start, stop - start))).facts

    whole = facts(0, 500)
    split = facts(0, 100).merge(facts(100, 130)).merge(facts(130, 500))
    assert split.pairs == whole.pairs
    assert split.n_rows == whole.n_rows == 500
    assert sum(whole.pairs.values()) == 500 - table["town"].null_count


def test_types_that_differ_from_file_to_file_are_brought_together(tmp_path):
    """Whole numbers and fractions, texts of several kinds, decimals and nulls are no hindrance."""
    table = noisy_table(1200).drop_columns("truth")
    label = pa.array((np.array(table["ill"]) == "yes").astype(int))
    table = table.set_column(3, "ill", label)
    code = pa.array(np.random.default_rng(0).integers(0, 9, 1200))
    town = pa.array(np.random.default_rng(1).choice(["Lyon", "Nice"], 1200).tolist())
    money = pa.array([f"{k % 7}.25" for k in range(1200)])
    kinds = [
        (pa.int64(), pa.string(), pa.decimal128(25, 2), pa.int64()),
        (pa.float64(), pa.large_string(), pa.decimal128(30, 2), pa.float64()),
        (pa.int32(), pa.dictionary(pa.int32(), pa.string()), pa.float32(), pa.int8()),
    ]
    for k, (number, text, price, y) in enumerate(kinds):
        rows = table.set_column(3, "ill", label.cast(y))
        columns = {"code": code.cast(number), "money": money.cast(pa.decimal128(25, 2)).cast(price)}
        columns["town"] = town.dictionary_encode() if k == 2 else town.cast(text)
        for name, column in columns.items():
            rows = rows.append_column(name, column)
        pq.write_table(rows.slice(400 * k, 400), tmp_path / f"{k}.parquet")
    nothing = rows.set_column(4, "code", pa.nulls(1200)).slice(0, 100)
    pq.write_table(nothing, tmp_path / "3.parquet")
    result = audit_files(tmp_path, "ill", PRICES)
    assert (result.n_rows, result.positive) == (1300, "1")


def test_strange_trusted_labels_are_refused(tmp_path):
    """What is no label of the target is no trusted one, whatever labels the checked rows have."""
    table = noisy_table(600).drop_columns("truth")
    labels = np.array(table["ill"])
    trusted = np.where((labels == "yes") & (np.arange(600) < 200), "yes", None)
    trusted[np.flatnonzero(labels == "yes")[0]] = "sure"
    table = table.append_column("checked", pa.array(trusted.tolist()))
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(TableError, match=r"\('no', 'yes'\); it also holds 'sure'"):
        audit_files(tmp_path / "a.parquet", "ill", PRICES, trusted="checked")
    with pytest.raises(TableError, match=r"\('no', 'yes'\); it also holds 'sure'"):
        audit(table, "ill", PRICES, trusted="checked")


@pytest.mark.slow
def test_labels_that_are_not_all_numbers_stay_as_they_are(tmp_path):
    """00 beside A1 is a text; codes of many digits keep them."""
    table = noisy_table(400).drop_columns("truth")
    positive = np.array(table["ill"]) == "yes"
    for pair in (("00", "A1"), ("12345678", "12345679")):
        labels = np.where(positive, pair[1], pair[0])
        changed = table.set_column(3, "ill", pa.array(labels.tolist()))
        pc.write_csv(changed, tmp_path / "a.csv")
        for result in (
            audit(changed, "ill", PRICES, model="linear"),
            audit_files(tmp_path / "a.csv", "ill", PRICES, test=changed),
        ):
            assert (result.negative, result.positive) == pair


def test_weights_do_not_count_as_rows(tmp_path):
    """The number of wrong labels is one of rows, whatever they weigh."""
    table = rich_table(3000)
    heavy = np.where(np.array(table["ill"]) == "yes", 50, 1)
    table = table.set_column(table.column_names.index("w"), "w", pa.array(heavy))
    pq.write_table(table, tmp_path / "a.parquet")
    options = OPTIONS | {"noise_model": "symmetric", "model": "linear"}
    found = audit_files(tmp_path / "a.parquet", "ill", PRICES, **options)
    expected = audit(table, "ill", PRICES, **options)
    ours, theirs = (
        r.information.wrong_labels / (r.n_rows * np.mean(r.noise_rate)) for r in (found, expected)
    )
    assert ours == pytest.approx(theirs, rel=0.2)


def test_a_saved_model_reads_columns_that_the_audit_does_not(tmp_path, table):
    """Columns left out of the audit are read for a model that has them."""
    path = _parquet(table, tmp_path)["source"]
    whole = audit_files(path, "ill", PRICES, **OPTIONS)
    part = audit_files(path, "ill", PRICES, **OPTIONS, model=whole.model, drop=("town",))
    assert [c.key for c in part.candidates][-1] == "saved"


@pytest.mark.slow
def test_a_file_sorted_by_a_column_is_seen_to_its_end(tmp_path):
    """One row group or many: levels at the end, and columns filled late, are learned."""
    n = 20_000
    table = noisy_table(n).drop_columns("truth")
    town = np.repeat(["Lyon", "Nice", "Paris", "Lille"], n // 4)
    late = [None] * (3 * n // 4) + [float(k) for k in range(n // 4)]
    table = table.append_column("town", pa.array(town.tolist()))
    table = table.append_column("late", pa.array(late, pa.float64()))
    for size in (n, 500, 10):
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=size)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_sources, "_LOOK_ROWS", 1600)
            result = audit_files(tmp_path / "a.parquet", "ill", PRICES)
        levels = {c["name"]: c.get("levels") for c in result.schema}
        assert levels["town"] == ["Lille", "Lyon", "Nice", "Paris"]
        assert not result.warnings


@pytest.mark.slow
def test_on_dask(table, by_form, tmp_path):
    """Files that workers read give what the same rows give here, whatever their columns' order."""
    distributed = pytest.importorskip("distributed")
    found = {}
    with (
        local_cluster() as cluster,
        distributed.Client(cluster),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for form in ("_folder", "_packed", "_semicolons"):
            folder = tmp_path / form
            folder.mkdir()
            found[form] = audit_files(
                target="ill",
                cost=PRICES,
                dask=cluster.scheduler_address,
                **FORMS[form](table, folder),
                **OPTIONS,
            )
        days = tmp_path / "text"
        days.mkdir()
        for k in range(3):
            pc.write_csv(table.slice(2000 * k, 2000), days / f"{k}.csv")
        options = {"target": "ill", "cost": PRICES, "dask": cluster.scheduler_address, **OPTIONS}
        found["text"] = audit_files(days, **options)
        swapped = table.select([1, 0, *range(2, table.num_columns)])
        pc.write_csv(swapped.slice(2000, 2000), days / "1.csv")
        found["swapped"] = audit_files(days, **options)
        pc.write_csv(table.drop_columns("x1").slice(2000, 2000), days / "1.csv")
        with pytest.raises(TableError, match=r"1\.csv.*no column 'x1', which .*0\.csv' has"):
            audit_files(days, **options)
        answers = [
            CheckedRow(
                s.row + 1, s.id, s.label, (s.label, s.suggested)[k % 2], None, f"a, line {k}"
            )
            for k, s in enumerate(found["_folder"].suspects[:40])
        ]
        options |= {"source": tmp_path / "_folder", "checked": [answers]}
        found["checked"] = audit_files(**options)
        checked_here = audit_files(**options | {"dask": None})
        (tmp_path / "_folder" / "1.parquet").write_bytes(b"PAR1 and nothing more")
        with pytest.raises((SourceError, ValueError), match=r"1\.parquet"):
            audit_files(tmp_path / "_folder", "ill", PRICES, dask=cluster.scheduler_address)
    checked = found.pop("checked")
    assert checked.n_checked == checked_here.n_checked == 40
    assert abs(checked.wrong_share.value - checked_here.wrong_share.value) < 1e-6
    expected = by_form("_parquet")
    for result in found.values():
        assert result.reading == "read piece by piece on a Dask cluster"
        assert (result.n_rows, result.n_positive) == (expected.n_rows, expected.n_positive)
        low, high = expected.wrong_share.low, expected.wrong_share.high
        assert abs(result.wrong_share.value - expected.wrong_share.value) < (high - low) / 4
        for suspect in result.suspects[:50]:
            row = table.slice(suspect.row, 1).to_pylist()[0]
            assert (row["name"], row["ill"]) == (suspect.id, suspect.label)
