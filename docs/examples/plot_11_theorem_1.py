"""
Where the paper's theorem fails
===============================

Its Theorem 1 says that symmetric label errors do not move the closed form, at any cost and margin. That
holds at cost 1/2 and margin 1 and nowhere else: elsewhere the expected problem has another solution.
"""

import matplotlib.pyplot as plt
import numpy as np

import flipcost as fc

data = fc.datasets.make_syn2d(20_000, random_state=0)
positive = data.target > 0
clean = fc.ClassMoments.from_rows(data.data, positive)
costs = np.linspace(0.1, 0.9, 17)
noisy = fc.ClassMoments.from_rows(
    data.data, fc.noise.flip_labels(data.target, 0.3, random_state=0) > 0
)


def share_flagged(moments, rate):
    """Return the share of rows flagged, at each cost."""
    path = fc.core.solve_path(moments, costs, [1.0], [1e-6], [rate])[:, 0, 0, 0]
    return (data.data @ path[:, :-1].T + path[:, -1] > 0).mean(axis=0)


fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(costs, share_flagged(clean, 0.0), lw=4, color="#bbb", label="right labels")
ax.plot(costs, share_flagged(noisy, 0.0), color="#e69f00", label="30% errors, as printed")
ax.plot(costs, share_flagged(noisy, 0.3), color="#0b5cad", ls="--", label="30% errors, corrected")
ax.axvline(0.5, color="#777", ls=":")
ax.set(xlabel="cost share of a false alarm", ylabel="rows flagged")
ax.legend()
plt.show()
