"""CSV files in ranges of bytes: any cut gives the rows of the whole."""

import csv
import io

import numpy as np
import pytest

from flipcost.exceptions import TableError
from flipcost.tables import reading
from flipcost.tables.reading import read_places, read_table, split_text
from flipcost.tables.sniff import sniff

FIELDS = {
    "plain": ["1", "2.5", "Lyon", "", "a text of some length"],
    "quotes": ["1", "x, y", 'he said "no"', "", "two\nlines", "a\n\nb, c", '"', ","],
    "ends": ["1", "ends with,", "\n", "\nstarts", 'quote at end"', '","', ',"\n",'],
    "inches": ["1", '5" pipe', "two\nlines", "x"],
}


def text_of(kind, seed, n=400, end="\n", delimiter=","):
    fields = np.array(FIELDS[kind], dtype=object)
    drawn = fields[np.random.default_rng(seed).integers(0, len(fields), (n, 3))]
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
    writer.writerow(["number", "a", "b", "c"])
    writer.writerows([k, *row] for k, row in enumerate(drawn.tolist()))
    return file.getvalue()


def rows_in(ranges):
    return [row for part in ranges for batch in part.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", FIELDS)
def test_any_cut_gives_the_rows_of_the_whole(kind, end, tmp_path):
    """Line breaks, delimiters and quotes within quotes are no row's end, wherever a cut falls."""
    for seed in range(8):
        path = tmp_path / "a.csv"
        path.write_text(text_of(kind, seed, end=end), newline="", encoding="utf-8")
        layout = sniff(path, delimiter=",")
        whole = read_table(path, delimiter=",").to_pylist()
        cuts = 0
        for n_bytes in (97, 500, 1_777, 5_000, 10**9):
            ranges = split_text(path, layout, n_bytes)
            assert rows_in(ranges) == whole
            assert ranges[0].start == 0
            assert ranges[-1].stop == path.stat().st_size
            cuts += len(ranges)
        assert cuts > 20 or kind != "plain"


LINES = {
    "inside out in one row": '1.2,-0.3,"he said zzz ""\\n"",so,and so",1'.replace("\\n", "\n"),
    "inside out in every row": '7,0.3,"\na,b,c,",1',
    "a long text": '7,0.3,"' + "word\n" * 700_000 + '",1\n' + "\n".join(["8,0.4,x,0"] * 500),
    "inches": '7,5" pipe,"two\nlines",1',
}


@pytest.mark.parametrize("kind", LINES)
def test_no_cut_where_the_text_leaves_doubt(kind, tmp_path, monkeypatch):
    """Text that reads as rows from within quotes too is not cut there; long ranges are not held."""
    path = tmp_path / "a.csv"
    times = 1 if kind == "a long text" else 3_000
    path.write_text("a,b,c,d\n" + (LINES[kind] + "\n") * times)
    layout = sniff(path, delimiter=",")
    whole = read_table(path, delimiter=",").to_pylist()
    for most in (1 << 27, 1_000):
        monkeypatch.setattr(reading, "_MOST_BYTES", most)
        for n_bytes in (997, 20_000) if times > 1 else (300_000, 1_000_000):
            assert rows_in(split_text(path, layout, n_bytes)) == whole


def test_what_cannot_be_cut_is_read_whole(tmp_path):
    """Compressed files and wide characters have no middle to begin from."""
    import gzip

    text = text_of("plain", 0)
    packed, wide = tmp_path / "a.csv.gz", tmp_path / "b.csv"
    packed.write_bytes(gzip.compress(text.encode()))
    wide.write_text(text, encoding="utf-16", newline="")
    for path, encoding in ((packed, None), (wide, "UTF-16")):
        (part,) = split_text(path, sniff(path, delimiter=",", encoding=encoding), 100)
        assert len(rows_in([part])) == 400


def test_a_ragged_line_is_refused_without_a_wrong_line_number(tmp_path):
    """The file is named; lines are counted only where that is possible."""
    lines = text_of("plain", 0, n=60_000).splitlines()
    lines[59_000] += ",7"
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    ranges = split_text(path, sniff(path), 100_000)
    with pytest.raises(TableError, match=r"a\.csv has 4 column names but 5 fields in a line"):
        rows_in(ranges)


def test_places_are_spread_over_the_file(tmp_path):
    """A look at a sorted file sees its end, and no broken row."""
    path = tmp_path / "a.csv"
    for kind in FIELDS:
        path.write_text(text_of(kind, 1, n=100_000), newline="", encoding="utf-8")
        known = {tuple(row.values())[1:] for row in read_table(path, delimiter=",").to_pylist()}
        blocks = read_places(path, 1_600, sniff(path, delimiter=","))
        numbers = [int(n) for block in blocks for n in block["number"].to_pylist()]
        assert len(blocks) >= 12
        assert len(numbers) <= 1_600
        assert min(numbers) == 0
        assert max(numbers) > 0.95 * 100_000
        for block in blocks:
            assert {tuple(row.values())[1:] for row in block.to_pylist()} <= known


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        '"a","b"\n1,2\n3,4',
        'a,b\n"1\n",2\n3,4\n',
        "a,b\n\n1,2\n3,4\n",
        "a,b\r\n1,2\r\n3,4\r\n",
    ],
)
def test_rows_are_counted_as_they_are_read(text, tmp_path):
    """Quotes in the header or in cells, empty lines and returns do not change the count."""
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    part = reading.TextRange(str(path), sniff(path), 0, len(text))
    assert part.count_rows() == sum(batch.num_rows for batch in part.batches()) == 2


def test_names_in_quotes_do_not_slow_the_count(tmp_path, monkeypatch):
    """Lines tell the number of rows where only the header has quotes: no cell is read."""
    path = tmp_path / "a.csv"
    path.write_text('"a","b"\n' + "1,2\n" * 1000)
    part = reading.TextRange(str(path), sniff(path), 0, path.stat().st_size)
    monkeypatch.setattr(reading.TextRange, "_read", None)
    assert part.count_rows() == 1000
