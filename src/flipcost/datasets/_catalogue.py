"""What data there is."""

from __future__ import annotations

import inspect
from typing import Any

from flipcost.datasets import _synthetic
from flipcost.datasets._files import read_index

_LAWS = {
    "syn1": _synthetic.make_syn1,
    "syn2": _synthetic.make_syn2,
    "syn2d": _synthetic.make_syn2d,
    "syn3d": _synthetic.make_syn3d,
    "syn10d": _synthetic.make_syn10d,
    "syn3d_imbalanced": _synthetic.make_syn3d_imbalanced,
}


def list_datasets() -> list[dict[str, Any]]:
    """List the bundled tables and the synthetic laws.

    Returns
    -------
    list of dict
        One per data set, with ``name``, ``kind`` (``"bundled"`` or ``"synthetic"``), ``loader``
        (the name of the function that returns it), ``rows``, ``features``, ``positives``,
        ``negatives``, ``cost``, ``source`` and ``licence``. The figures are those of the loader's
        defaults. The class counts of a synthetic law are random and hence None; so is the cost
        where the paper sets none.

    Examples
    --------
    >>> from flipcost.datasets import list_datasets
    >>> for row in list_datasets()[:5]:
    ...     print(row["name"], row["rows"], row["features"], row["positives"], row["cost"])
    breast_cancer_ljubljana 263 9 77 0.2
    pima 768 8 268 0.25
    german_credit 1000 20 300 0.16
    thyroid 215 5 65 0.3
    bupa 345 6 176 0.25
    """
    tables = read_index()["tables"]
    bundled = [_bundled_row(name, entry) for name, entry in tables.items()]
    return bundled + [_synthetic_row(name) for name in _LAWS]


def _bundled_row(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a bundled table."""
    counts = next(iter(entry["counts"].values()))
    return {
        "name": name,
        "kind": "bundled",
        "loader": entry["loader"],
        "rows": counts["rows"],
        "features": entry["features"],
        "positives": counts["positives"],
        "negatives": counts["negatives"],
        "cost": entry["cost"],
        "source": f"{entry['source']['package']} {entry['source']['version']}",
        "licence": entry["licence"],
    }


def _synthetic_row(name: str) -> dict[str, Any]:
    """Return the row of a synthetic law."""
    make = _LAWS[name]
    bunch = make(1, random_state=0)
    return {
        "name": name,
        "kind": "synthetic",
        "loader": make.__name__,
        "rows": inspect.signature(make).parameters["n_samples"].default,
        "features": bunch.data.shape[1],
        "positives": None,
        "negatives": None,
        "cost": bunch.get("cost"),
        "source": "drawn on demand",
        "licence": "BSD-3-Clause",
    }
