"""
Any classifier of scikit-learn
==============================

`estimator=` takes whatever scores rows; its scores are calibrated to the right label. When the error
rate is known, `NoiseAwareThresholdClassifier` moves the threshold of any probability.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import flipcost as fc

cost = 0.2
train = fc.datasets.make_syn3d(1500, random_state=0)
test = fc.datasets.make_syn3d(10_000, random_state=1)
noisy = fc.noise.flip_labels(train.target, 0.2, random_state=0)
forest = RandomForestClassifier(50, min_samples_leaf=10, random_state=0)
logistic = make_pipeline(StandardScaler(), LogisticRegression())
models = {
    "forest": fc.FlipCostClassifier(cost, estimator=forest, random_state=0),
    "logistic": fc.FlipCostClassifier(cost, estimator=logistic, random_state=0),
    "logistic, rate known": fc.NoiseAwareThresholdClassifier(logistic, cost=cost, noise_rate=0.2),
    "our own scores": fc.FlipCostClassifier(cost, random_state=0),
}
paid = {}
for name, model in models.items():
    flagged = model.fit(train.data, noisy).predict(test.data)
    paid[name] = fc.metrics.weighted_cost(test.target, flagged, cost, normalize=True)
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.barh(list(paid), list(paid.values()), color="#0b5cad")
ax.set(xlabel="cost per row, by the right labels")
plt.show()
