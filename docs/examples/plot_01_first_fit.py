"""
A first fit
===========

A fifth of the labels of a table are wrong, and a missed case costs three false alarms. Nobody tells
the classifier either how many labels are wrong or which.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import flipcost as fc

data = fc.datasets.load_pima()
noisy = fc.noise.flip_labels(data.target, 0.2, random_state=0)
prices = fc.Costs(fn=3, fp=1)
model = fc.FlipCostClassifier(prices, random_state=0).fit(data.data, noisy)
print(model.summary())

# %%
# What would each way of deciding cost on the *clean* labels, which the classifier never saw?
clean = np.asarray(data.target)
plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.data, noisy)
at_the_price = plain.predict_proba(data.data)[:, 1] > prices.alpha
calls = {
    "always no": np.full_like(clean, clean.min()),
    "always yes": np.full_like(clean, clean.max()),
    "logistic regression": np.where(at_the_price, clean.max(), clean.min()),
    "FlipCostClassifier": model.predict(data.data),
}
paid = {
    name: fc.metrics.weighted_cost(clean, call, prices, normalize=True)
    for name, call in calls.items()
}
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.barh(list(paid), list(paid.values()), color=["#bbb", "#bbb", "#e69f00", "#0b5cad"])
ax.set(xlabel="cost of a row on clean labels")
plt.show()
