"""
Cost over all prices
====================

Prices change. A cost curve shows what a model pays at every share of the cost that a false alarm
bears, as the noisy labels have it and denoised.
"""

import matplotlib.pyplot as plt

import flipcost as fc

data = fc.datasets.load_german_credit()
noisy = fc.noise.flip_labels(data.target, 0.15, random_state=0)
model = fc.FlipCostClassifier(0.2, features="linear", random_state=0).fit(data.data, noisy)

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
probability = model.oof_probability_
fc.plot.CostCurveDisplay.from_predictions(noisy, probability, name="as labelled", ax=ax)
fc.plot.CostCurveDisplay.from_predictions(
    noisy, probability, noise_rate=0.15, name="denoised", ax=ax
)
plt.show()
