"""Numbers as people write them in text, and columns as programs name them."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from flipcost.audit import audit
from flipcost.core.costs import Costs
from flipcost.estimators import FlipCostClassifier
from flipcost.model import load, save
from flipcost.tables.columns import describe_column, styled_numbers, text_kind
from flipcost.tables.encoder import Encoder
from flipcost.tables.reading import read_table

STYLES = {
    "1,234.5": ["1,234.50", "12", "1,000,000"],
    "1234,5": ["3,5", "12", "0,123"],
    "1.234,5": ["1.234,50 €", "12,00 €", "-3,10 €"],
    "1 234,5": ["1 234,5", "12", "7\u00a0000"],
    "1'234.5": ["1'234.5", "12"],
    "1234.5": ["12%", "3.5 %"],
}
NUMBERS = {
    "1,234.5": [1234.5, 12, 1e6],
    "1234,5": [3.5, 12, 0.123],
    "1.234,5": [1234.5, 12, -3.1],
    "1 234,5": [1234.5, 12, 7000],
    "1'234.5": [1234.5, 12],
    "1234.5": [12, 3.5],
}


@pytest.mark.parametrize("style", STYLES)
def test_each_style_is_known_and_read(style):
    column = pa.array([*STYLES[style], None])
    assert text_kind(pa.array(STYLES[style])) == ("number", style)
    assert describe_column("a", column) == {"name": "a", "kind": "number", "format": style}
    assert styled_numbers(column, style).to_pylist() == [*NUMBERS[style], None]
    table = pa.table({"a": column})
    assert np.allclose(Encoder.learn(table).cells(table)[:-1, 0], NUMBERS[style])


@pytest.mark.parametrize(
    "cells", [["1,2,3", "4"], ["a 12", "12"], ["12.05.2024", "13.06.2024"], ["$", "$ 3"]]
)
def test_other_text_stays_what_it_was(cells):
    assert text_kind(pa.array(cells))[1] not in STYLES


def test_a_european_file_is_read_as_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("amount;rate;points;ill\n1.234,50 €;3,5;0,125;yes\n999;12,0 %;1.500;no\n")
    assert read_table(path).to_pydict() == {
        "amount": ["1234.50 €", "999"],
        "rate": ["3.5", "12.0 %"],
        "points": ["0.125", "1500"],
        "ill": ["yes", "no"],
    }


@pytest.mark.parametrize("more", ["", ";2,5;3,5"])
def test_a_file_of_both_marks_is_read_column_by_column(more, tmp_path):
    path = tmp_path / "a.csv"
    names = "amount;rate;ill" + ";a;b" * bool(more)
    path.write_text(f"{names}\n1.234,50 €;3.5%;yes{more}\n999,00 €;12.0%;no{more}\n")
    table = read_table(path)
    cells = Encoder.learn(table, columns=["amount", "rate"]).cells(table)
    assert cells.tolist() == [[1234.5, 3.5], [999.0, 12.0]]


@pytest.mark.parametrize(
    "cells",
    [["(0.50)", "1,250.00", "3"], ["\u22120.50", "1250", "3.0"], ["\u2212$0.50", "$1,250", "$3"]],
)
def test_negative_numbers_of_accounts_and_of_typesetters(cells):
    kind, style = text_kind(pa.array(cells))
    assert (kind, styled_numbers(pa.array(cells), style).to_pylist()) == ("number", [-0.5, 1250, 3])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("words", [[], ["a", "b"]])
def test_a_saved_model_reads_numbers_as_they_were_written(suffix, words, tmp_path):
    """Shares and amounts in text, alone or beside categories: the file predicts as numbers do."""
    rng = np.random.default_rng(0)
    signal, price = rng.normal(size=200).round(2), rng.gamma(2, 900, 200).round(2)
    y = np.where(signal + rng.normal(size=200) > 0, "yes", "no")
    numbers = {"share": signal, "price": price}
    written = {"share": [f"{v:.2f} %" for v in signal], "price": [f"${v:,.2f}" for v in price]}
    more = {"town": rng.choice(words, 200)} if words else {}
    found = audit(pa.table(written | more | {"y": y}), "y", model="linear")
    save(found, tmp_path / "m.json")
    path = tmp_path / f"a{suffix}"
    write = pq.write_table if suffix == ".parquet" else pa_csv.write_csv
    write(pa.table(written | more), path)
    model = load(tmp_path / "m.json")
    of_text = model.predict_proba(read_table(path))
    assert np.array_equal(of_text, model.predict_proba(pa.table(numbers | more)))
    fitted = FlipCostClassifier(random_state=0).fit(pa.table(written | more).to_pandas(), y)
    save(fitted, tmp_path / "m.json")
    of_text = load(tmp_path / "m.json").predict_proba(read_table(path))
    assert np.allclose(of_text, fitted.predict_proba(pa.table(written | more).to_pandas()))


def test_none_is_a_level_and_none_of_python_is_missing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("plan,ill\nnone,yes\nbasic,no\nNone,no\n")
    assert read_table(path)["plan"].to_pylist() == ["none", "basic", None]


def test_points_that_are_decimal_are_not_taken_for_thousands(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("dose;rate;fee;ill\n0.5;3,5;2,5;yes\n1.500;12,0;1,5;no\n")
    assert read_table(path)["dose"].to_pylist() == ["0.5", "1.500"]


def test_equal_names_and_indexes_are_told_apart_and_left_out(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 300))
    rows = [
        f"{rng.integers(1000)},{a:.3f},{b:.3f},{int(a + b > 0)}" for a, b in zip(x, y, strict=True)
    ]
    path = tmp_path / "a.csv"
    path.write_text("\n".join([",age,age,ill", *rows]))
    table = read_table(path)
    assert table.column_names == ["Unnamed: 0", "age", "age (2)", "ill"]
    result = audit(table, "ill", Costs(fn=2, fp=1), model="linear")
    assert any("'age (2)'" in text for text in result.warnings)
    assert any("'Unnamed: 0'" in text for text in result.warnings)


def test_blanks_that_do_not_break_lines():
    """Between number and unit, as spreadsheets write them."""
    cells = ["2\u202f119,60\u00a0€", "359,76\u202f€"]
    assert text_kind(pa.array(cells)) == ("number", "1 234,5")
    assert styled_numbers(pa.array(cells), "1 234,5").to_pylist() == [2119.6, 359.76]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1.200 €", "15 €"], [1200, 15]),
        (["1.200 €", "15.5 €"], [1.2, 15.5]),
        (["1.200 %", "15 %"], [1.2, 15]),
        (["1.200", "$15"], [1.2, 15]),
    ],
)
def test_money_has_no_thousandths(cells, numbers):
    """Where all points are before three digits, and all cells are money, points part thousands."""
    kind, style = text_kind(pa.array(cells))
    assert (kind, styled_numbers(pa.array(cells), style).to_pylist()) == ("number", numbers)


def test_blanks_and_apostrophes_part_thousands_beside_decimal_commas(tmp_path):
    """In a file with decimal commas: half of such a column was changed, and none of it read."""
    path = tmp_path / "a.csv"
    rows = "2 119,60 EUR;1'250,5;yes\n359,76 EUR;12,0;no\n-1 002 119,6 EUR;3;no\n"
    path.write_text("a;b;ill\n" + rows)
    table = read_table(path)
    cells = Encoder.learn(table, columns=["a", "b"]).cells(table)
    assert cells.tolist() == [[2119.6, 1250.5], [359.76, 12.0], [-1002119.6, 3.0]]
