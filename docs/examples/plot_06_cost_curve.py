"""
Cost at every ratio of costs
============================

Costs change. A cost curve shows what a model costs at every share that a false alarm bears: by recorded
labels, and corrected for label errors.
"""

import matplotlib.pyplot as plt

import flipcost as fc

data = fc.datasets.load_german_credit()
noisy = fc.noise.flip_labels(data.target, 0.15, random_state=0)
model = fc.FlipCostClassifier(0.2, features="linear", random_state=0).fit(data.data, noisy)

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
probability = model.oof_probability_
fc.plot.CostCurveDisplay.from_predictions(noisy, probability, name="by recorded labels", ax=ax)
fc.plot.CostCurveDisplay.from_predictions(
    noisy, probability, noise_rate=0.15, name="corrected", ax=ax
)
plt.show()
