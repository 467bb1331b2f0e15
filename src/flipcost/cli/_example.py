"""Bundled data with noise added, as a table like a user's."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

import pyarrow as pa

from flipcost import datasets
from flipcost.core.noise import NoiseRateLike
from flipcost.exceptions import UserError
from flipcost.noise import flip_labels


def example_table(
    name: str, noise_rate: NoiseRateLike, seed: int
) -> tuple[pa.Table, str, float | None]:
    """Return a table with noisy labels in ``label`` and clean ones in ``true_label``.

    Returns
    -------
    table : pyarrow.Table
    positive : str
        The positive label.
    cost : float or None
        The cost of the data set in the literature.

    Examples
    --------
    >>> table, positive, cost = example_table("german_credit", 0.2, 0)
    >>> table.num_rows, positive, cost
    (1000, 'bad', 0.16)
    """
    known = {row["name"]: row for row in datasets.list_datasets()}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        advice = f"did you mean {close[0]!r}?" if close else "see `flipcost datasets`."
        msg = f"There is no example {name!r}; {advice}"
        raise UserError(msg)
    loader = getattr(datasets, known[name]["loader"])
    parameters = inspect.signature(loader).parameters
    options: dict[str, Any] = {"coding": "raw"} if "coding" in parameters else {}
    if "random_state" in parameters:
        options["random_state"] = seed
    data = loader(**options)
    names = data.get("feature_names") or [f"x{j + 1}" for j in range(data.data.shape[1])]
    columns = {
        feature: pa.array([str(value) for value in data.data[:, j]])
        for j, feature in enumerate(names)
    }
    clean = (data.target > 0).astype(int)
    words = data.get("target_names") or ["negative", "positive"]
    noisy = flip_labels(clean, noise_rate, random_state=seed)
    columns["true_label"] = pa.array([str(words[k]) for k in clean])
    columns["label"] = pa.array([str(words[k]) for k in noisy])
    return pa.table(columns), str(words[1]), known[name]["cost"]
