"""
Which rule, if the noise were ...
=================================

The clean cost of several rules from the same noisy labels, at every noise rate that is possible.
Where lines cross, the answer hangs on the rate; where they do not, it is no matter.
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
calls = {
    "FlipCostClassifier": labels[(model.oof_probability_ > cost).astype(int)],
    "logistic regression": labels[(plain > cost).astype(int)],
}
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
fc.plot.NoisePathDisplay.from_predictions(noisy, calls, cost=cost, most=0.3, ax=ax)
plt.show()
