"""
One pass, every cost and error rate
===================================

The closed form needs the moments of each class and nothing else of the rows. Label errors act on moments
linearly and are undone exactly, so that one pass gives the boundary for any cost and any error rate.
"""

import matplotlib.pyplot as plt
import numpy as np

import flipcost as fc

data = fc.datasets.make_syn2d(5000, random_state=0)
noisy = fc.noise.flip_labels(data.target, 0.3, random_state=0)
moments = fc.ClassMoments.from_rows(data.data, noisy > 0)
costs, rates = [0.2, 0.5, 0.8], [0.0, 0.3]
path = fc.core.solve_path(moments, costs, [1.0], [0.01], rates)

fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharex=True, sharey=True, layout="constrained")
x = np.linspace(*np.quantile(data.data[:, 0], [0.01, 0.99]), 2)
for k, ax in enumerate(axes):
    ax.scatter(*data.data.T, c=np.where(data.target > 0, "#e69f00", "#56b4e9"), s=3, lw=0)
    for i, cost in enumerate(costs):
        a, b, c = path[i, 0, 0, k]
        ax.plot(x, -(a * x + c) / b, lw=2, label=f"cost {cost:g}")
    ax.set(title="as recorded" if rates[k] == 0 else "corrected for 30% errors")
    ax.set_ylim(*np.quantile(data.data[:, 1], [0.005, 0.995]))
axes[1].legend()
plt.show()
