"""
More rows than memory
=====================

Moments merge. The closed form learns from a file of any size, or a stream, in constant memory, and the
result is that of all rows at once.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import flipcost as fc

data = fc.datasets.make_syn3d(200_000, random_state=0)
noisy = fc.noise.flip_labels(data.target, 0.2, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "rows.parquet")
    table = pa.table([*data.data.T, noisy], names=["a", "b", "c", "label"])
    pq.write_table(table, path, row_group_size=20_000)
    scanned = fc.scale.scan_parquet(path, target="label")
    model = fc.UnevenMarginClassifier(cost=0.3, noise_rate=0.2).fit_table(scanned)
whole = fc.UnevenMarginClassifier(cost=0.3, noise_rate=0.2).fit(data.data, noisy)
print("largest difference of a coefficient:", np.abs(model.coef_ - whole.coef_).max())

# %%
# A stream gets closer with every batch.
stream = fc.UnevenMarginClassifier(cost=0.3, noise_rate=0.2)
off, seen = [], []
for rows in np.array_split(np.arange(20_000), 40):
    stream.partial_fit(data.data[rows], noisy[rows], classes=np.unique(noisy))
    seen.append(rows[-1] + 1)
    off.append(np.abs(stream.coef_ - whole.coef_).max())
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.loglog(seen, off, color="#0b5cad")
ax.set(xlabel="rows seen", ylabel="off the fit of all rows")
plt.show()
