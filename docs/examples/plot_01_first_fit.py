"""
A first fit
===========

A fifth of the labels of a table are wrong, and a miss costs three false alarms. The classifier is told
neither how many labels are wrong nor which.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import flipcost as fc

data = fc.datasets.load_pima()
noisy = fc.noise.flip_labels(data.target, 0.2, random_state=0)
costs = fc.Costs(fn=3, fp=1)
model = fc.FlipCostClassifier(costs, random_state=0).fit(data.data, noisy)
print(model.summary())

# %%
# What would each decision cost by the right labels, which the classifier never saw?
clean = np.asarray(data.target)
plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.data, noisy)
over_threshold = plain.predict_proba(data.data)[:, 1] > costs.alpha
decisions = {
    "flag none": np.full_like(clean, clean.min()),
    "flag all": np.full_like(clean, clean.max()),
    "logistic regression": np.where(over_threshold, clean.max(), clean.min()),
    "FlipCostClassifier": model.predict(data.data),
}
paid = {
    name: fc.metrics.weighted_cost(clean, flagged, costs, normalize=True)
    for name, flagged in decisions.items()
}
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.barh(list(paid), list(paid.values()), color=["#bbb", "#bbb", "#e69f00", "#0b5cad"])
ax.set(xlabel="cost per row, by the right labels")
plt.show()
