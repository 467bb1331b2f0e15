"""The printed figures and the list of data sets."""

import math
from collections import Counter

import pytest

from flipcost import datasets


@pytest.fixture(scope="module")
def cells():
    return datasets.load_paper_tables()


def test_number_of_cells_and_tables(cells):
    """There are 931 cells in 23 tables, each with the same keys and no two for the same thing."""
    assert len(cells) == 931
    assert len({cell["table"] for cell in cells}) == 23
    assert {tuple(cell) for cell in cells} == {
        ("table", "dataset", "cost", "rho", "pi", "gamma", "method", "measure", "mean", "std")
    }
    keys = Counter(
        tuple(str(value) for key, value in cell.items() if key not in ("mean", "std"))
        for cell in cells
    )
    assert max(keys.values()) == 1


def test_types_of_the_cells(cells):
    """Numbers are floats; cost and gamma may be tuned or absent; rho is always given."""
    for cell in cells:
        assert all(isinstance(cell[key], float) for key in ("rho", "pi", "mean", "std"))
        assert all(
            cell[key] is None or cell[key] == "tuned" or isinstance(cell[key], float)
            for key in ("cost", "gamma")
        )
        assert 0 <= cell["rho"] < 0.5


def test_undefined_divergences_are_nan(cells):
    """Where a mean is missing, it is a Kullback-Leibler divergence that the paper prints as NA."""
    assert {cell["measure"] for cell in cells if math.isnan(cell["mean"])} == {"KL"}


def test_costs_of_the_tables_are_those_of_the_loaders(cells):
    """Each bundled set carries the cost of its cells with a stated cost and noise."""
    printed = {
        (cell["dataset"], cell["cost"]) for cell in cells if cell["table"] == "Ac_measure_cost"
    }
    loaded = {
        ("breast_cancer", datasets.load_breast_cancer_ljubljana().cost),
        ("pima", datasets.load_pima().cost),
        ("german", datasets.load_german_credit().cost),
        ("thyroid", datasets.load_thyroid().cost),
    }
    assert printed == loaded
    bupa = {cell["cost"] for cell in cells if cell["dataset"] == "bupa"}
    assert bupa == {datasets.load_bupa().cost}
    imbalanced = {cell["cost"] for cell in cells if cell["dataset"] == "syn3d_imb"}
    assert imbalanced == {datasets.make_syn3d_imbalanced(1, random_state=0).cost}


def test_paper_tables_as_frame(cells):
    """The frame has the same cells."""
    pytest.importorskip("pandas")
    frame = datasets.load_paper_tables(as_frame=True)
    assert frame.shape == (931, 10)
    assert frame["mean"].dtype == float
    assert frame["method"].tolist() == [cell["method"] for cell in cells]


def test_catalogue_agrees_with_the_loaders():
    """Every row of the list is what its loader returns by default."""
    for row in datasets.list_datasets():
        loader = getattr(datasets, row["loader"])
        bunch = loader() if row["kind"] == "bundled" else loader(random_state=0)
        assert bunch.data.shape == (row["rows"], row["features"])
        assert bunch.get("cost") == row["cost"]
        assert row["source"]
        assert row["licence"]
        if row["kind"] == "bundled":
            assert (bunch.target == 1).sum() == row["positives"]
            assert (bunch.target == -1).sum() == row["negatives"]


def test_catalogue_is_complete():
    """Every load and make function but that of the printed figures is listed, once."""
    public = {name for name in datasets.__all__ if name.startswith(("load_", "make_"))}
    listed = [row["loader"] for row in datasets.list_datasets()]
    assert sorted(listed) == sorted(public - {"load_paper_tables"})
