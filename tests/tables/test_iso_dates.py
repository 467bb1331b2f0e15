"""ISO timestamps are dates: with T, Z, offsets and fractions, mixed too."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from flipcost.exceptions import TableError
from flipcost.tables.columns import ISO_FORMAT, read_cells
from flipcost.tables.encoder import Encoder

DAY = dt.datetime(2024, 2, 29, 12, 30, 15)  # noqa: DTZ001 - of UTC


@pytest.mark.parametrize(
    "written",
    [
        "2024-02-29T12:30:15Z",
        "2024-02-29 12:30:15z",
        "2024-02-29T12:30:15.250Z",
        "2024-02-29T14:30:15+02:00",
        "2024-02-29T07:00:15-0530",
        "2024-02-29T13:30:15.999999+01",
        "2024-03-01T00:30:15,5+12:00",
    ],
)
def test_one_moment_is_one_moment(written):
    """However it is written, the same second of UTC, fractions cut off."""
    table = pa.table({"when": [written, "2024-02-29T12:30:15Z", "2020-01-01", None]})
    encoder = Encoder.learn(table)
    about = encoder.columns[0]
    assert (about.kind, about.format) == ("date", ISO_FORMAT)
    days = encoder.cells(table)[:, 0]
    assert days[0] == days[1]
    assert days[1] == (DAY - dt.datetime(1970, 1, 1)).total_seconds() / 86400  # noqa: DTZ001
    assert np.isnan(days[3])


def test_plain_dates_keep_their_format():
    """A column of days, or of seconds, is read as before."""
    encoder = Encoder.learn(pa.table({"d": ["2024-02-29", "2024-03-01"]}))
    assert encoder.columns[0].format == "%Y-%m-%d"


def test_days_that_no_month_has_are_no_dates():
    """30 February makes categories of a column, and is refused where dates were learned."""
    odd = pa.array(["2024-02-30T10:00:00Z", "2024-02-01T10:00:00Z"])
    assert Encoder.learn(pa.table({"d": odd})).columns[0].kind == "category"
    encoder = Encoder.learn(pa.table({"d": ["2024-02-20T10:00:00Z", "2024-02-01T10:00:00Z"]}))
    with pytest.raises(TableError, match="held dates"):
        encoder.cells(pa.table({"d": odd}))
    with pytest.raises(ValueError, match="found 'soon'"):
        read_cells(pa.array(["2024-02-01T10:00:00Z", "soon"]), ISO_FORMAT)
