"""Tables and audits that several tests share."""

import numpy as np
import pyarrow as pa

from flipcost.core.costs import Costs
from flipcost.datasets import make_syn3d
from flipcost.noise import flip_labels

PRICES = Costs(fn=4, fp=1)


def noisy_table(n=1500, rate=0.25, seed=0, **columns):
    """Return a table of three numbers with noisy labels in ``ill`` and clean ones in ``truth``."""
    data = make_syn3d(n, random_state=seed)
    noisy = flip_labels(data.target, rate, random_state=seed + 1)
    word = np.array(["no", "yes"], dtype=object)
    table = {f"x{j}": data.data[:, j] for j in range(3)}
    table |= columns
    table["truth"] = word[(data.target > 0).astype(int)]
    table["ill"] = word[(noisy > 0).astype(int)]
    return pa.table(table)
