"""
How many labels are wrong?
==========================

What a table says about its two error rates, and what it leaves open: the posterior that decisions
average over, and the interval, which also allows for a wrong model.
"""

import matplotlib.pyplot as plt
import numpy as np

import flipcost as fc

data = fc.datasets.make_syn3d(4000, random_state=0)
noisy = fc.noise.flip_labels(data.target, (0.3, 0.1), random_state=0)
model = fc.FlipCostClassifier(0.3, features="linear", random_state=0).fit(data.data, noisy)
for name, weight in model.noise_models_.items():
    print(f"{name:18} {weight:.3f}")

# %%
# The truth is 0.3 of the positives and 0.1 of the negatives.
posterior = model.rate_posterior_
fig, ax = plt.subplots(figsize=(5.4, 4), layout="constrained")
shown = posterior.weight > 1e-5
ax.scatter(
    *posterior.rates[shown].T, s=900 * posterior.weight[shown], color="#0b5cad", alpha=0.6, lw=0
)
(low, high), (least, most) = model.noise_rate_interval_
ax.add_patch(plt.Rectangle((low, least), high - low, most - least, fill=False, ls="--"))
ax.plot(0.3, 0.1, "x", color="#d55e00", ms=10, mew=3, label="truth")
ax.set(xlabel="positives mislabelled", ylabel="negatives mislabelled")
ax.legend()
print("interval of both rates:", np.round(model.noise_rate_interval_, 2).tolist())
plt.show()
