"""
Three annotators
================

Labels given independently tell how often each annotator is wrong, for positives and for negatives,
though no one knows the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

import flipcost as fc

data = fc.datasets.make_syn3d(1500, random_state=0)
truth = [(0.30, 0.05), (0.15, 0.10), (0.10, 0.25)]
labels = [fc.noise.flip_labels(data.target, rates, random_state=k) for k, rates in enumerate(truth)]
found = fc.noise.rate_from_repeats(*labels, class_conditional=True)
print(found)

# %%
# The first annotator's rates enter the fit with their intervals.
model = fc.FlipCostClassifier(0.25, noise_rate=found, features="linear", random_state=0)
model.fit(data.data, labels[0])
low, high, value = (np.ravel(part) for part in (found.low, found.high, found.value))
fig, ax = plt.subplots(figsize=(5, 2.8), layout="constrained")
ax.errorbar([0, 1], value, yerr=[value - low, high - value], fmt="o", color="#0b5cad", capsize=6)
ax.plot([0, 1], truth[0], "x", color="#d55e00", ms=10, mew=3, label="truth")
ax.set_xticks([0, 1], ["positives", "negatives"])
ax.set(ylabel="mislabelled by the first", xlim=(-0.5, 1.5), ylim=(0, 0.5))
ax.legend()
plt.show()
