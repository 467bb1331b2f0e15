"""
A hundred checked rows
======================

Positives are mislabelled where one column is large, which no table shows by itself. Right labels of a
few rows do: the interval of the error rate narrows, and decisions improve.
"""

import matplotlib.pyplot as plt
import numpy as np

import flipcost as fc

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3))
right = rng.random(2000) < 1 / (1 + np.exp(0.3 - 1.5 * X[:, 0] + X[:, 1]))
recorded = right & (rng.random(2000) > 0.9 / (1 + np.exp(-2 * X[:, 2])))
truth = 1 - recorded[right].mean()

budgets, limits = [0, 30, 100, 300], []
for n in budgets:
    trusted = np.full(2000, np.nan)
    trusted[:n] = right[:n]
    model = fc.FlipCostClassifier(0.25, features="linear", random_state=0)
    model.fit(X, recorded, trusted=trusted if n else None)
    limits.append(model.noise_rate_interval_[0])
    paid = fc.metrics.weighted_cost(right, model.predict(X), 0.25, normalize=True)
    print(f"{n:3d} checked: cost by the right labels {paid:.3f}")

# %%
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for place, (low, high) in enumerate(limits):
    ax.plot([place, place], [low, high], lw=8, color="#0b5cad", solid_capstyle="butt")
ax.axhline(truth, color="#d55e00", ls="--", label="truth")
ax.set_xticks(range(len(budgets)), budgets)
ax.set(xlabel="checked rows", ylabel="positives mislabelled", ylim=(0, 1))
ax.legend()
plt.show()
