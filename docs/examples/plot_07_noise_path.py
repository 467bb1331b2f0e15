"""
Which model, at which error rate
================================

The expected cost of several decisions at every possible share of wrong labels. Where lines cross, the
best decision depends on that share; where they do not, it need not be known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import flipcost as fc

data = fc.datasets.load_pima()
noisy = fc.noise.flip_labels(data.target, 0.2, random_state=0)
cost = 0.25
model = fc.FlipCostClassifier(cost, features="linear", random_state=0).fit(data.data, noisy)
scaled = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
plain = cross_val_predict(LogisticRegression(), scaled, noisy, method="predict_proba")[:, 1]
labels = np.unique(noisy)
flags = {
    "FlipCostClassifier": labels[(model.oof_probability_ > cost).astype(int)],
    "logistic regression": labels[(plain > cost).astype(int)],
}
flags["flag all"] = np.full(len(noisy), labels[1])
rates = np.linspace(0, 0.3, 61)
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name, flagged in flags.items():
    found = [fc.metrics.denoised_cost(noisy, flagged, cost, r, normalize=True) for r in rates]
    ax.plot(rates, [estimate.value for estimate in found], label=name)
ax.set(xlabel="assumed share of wrong labels", ylabel="expected cost of a row")
ax.legend()
plt.show()
