"""
Which rows to check next
========================

Rows are drawn with probabilities that depend on their label and score alone: mostly where the decision
is in doubt, sometimes elsewhere, so that what is counted on them stays unbiased.
"""

import matplotlib.pyplot as plt
import numpy as np

import flipcost as fc

data = fc.datasets.make_syn2d(2000, random_state=0)
noisy = fc.noise.flip_labels(data.target, (0.3, 0.05), random_state=0)
model = fc.FlipCostClassifier(0.2, features="linear", random_state=0).fit(data.data, noisy)
batch = fc.recheck.next_rows(model, data.data, noisy, n=50)
print(batch.to_frame().head())

# %%
X = np.asarray(data.data)
fig, ax = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
ax.scatter(*X.T, c=np.where(noisy > 0, "#e69f00", "#56b4e9"), s=6, alpha=0.5, lw=0)
ax.scatter(*X[batch.rows].T, facecolor="none", edgecolor="#000", s=40, label="to be checked")
ax.legend()
ax.set(title="labels as recorded; rows worth a check")
plt.show()
