"""
What ignoring wrong labels costs
================================

More and more labels are wrong: logistic regression with its threshold at the cost, as one would do with
right labels, beside a classifier that corrects for label errors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import flipcost as fc

cost = 0.2
train = fc.datasets.make_syn3d(3000, random_state=0)
test = fc.datasets.make_syn3d(20_000, random_state=1)
rates = [0.0, 0.1, 0.2, 0.3]


def clean_cost(flagged):
    """Return what decisions cost by the right labels of the test rows."""
    return fc.metrics.weighted_cost(test.target, flagged, cost, normalize=True)


ours, theirs = [], []
for rate in rates:
    noisy = fc.noise.flip_labels(train.target, rate, random_state=0)
    model = fc.FlipCostClassifier(cost, features="linear", random_state=0).fit(train.data, noisy)
    ours.append(clean_cost(model.predict(test.data)))
    plain = LogisticRegression().fit(train.data, noisy)
    theirs.append(clean_cost(np.where(plain.predict_proba(test.data)[:, 1] > cost, 1, -1)))

best = clean_cost(np.where(test.eta > cost, 1, -1))
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(rates, theirs, "o-", color="#e69f00", label="logistic regression at the cost")
ax.plot(rates, ours, "o-", color="#0b5cad", label="FlipCostClassifier")
ax.axhline(best, color="#777", ls=":", label="best possible")
ax.set(xlabel="share of labels that are wrong", ylabel="cost by the right labels", ylim=(0, None))
ax.legend()
plt.show()
