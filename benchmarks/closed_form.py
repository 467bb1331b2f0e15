"""The closed form against a bare product, RidgeClassifier and GridSearchCV.

Figures are ratios of processor times within this run, float64, warm, best of five, taken in turns.
The peer of the cross-validated search is GridSearchCV over the same candidates, the same folds and
the same measure, with scikit-learn's weighted ridge as its estimator; it runs once.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV

from benchmarks.timing import best_of_each, peak_extra_bytes, verdict
from flipcost import UnevenMarginClassifier, UnevenMarginClassifierCV

COST = 0.3
MARGINS = [COST / (1 - COST) + 0.001 + 0.05 * i for i in range(12)]
L2S = [0.01, 0.1, 1.0, 10.0]


class WeightedRidge(ClassifierMixin, BaseEstimator):
    """The same minimizer by way of scikit-learn: ridge with weights on rows with a column of ones.

    Completing the square in each class turns the uneven squared loss into weighted least squares
    with targets +1 and -1/margin; the penalty on the mean loss becomes one on the weighted sum.
    """

    def __init__(self, cost=0.5, margin=1.0, l2=0.1):
        self.cost = cost
        self.margin = margin
        self.l2 = l2

    def fit(self, X, y):
        """Fit by Ridge."""
        self.classes_ = np.unique(y)
        positive = y == self.classes_[1]
        weight = np.where(positive, 1 - self.cost, self.cost * self.margin)
        target = np.where(positive, 1.0, -1.0 / self.margin)
        rows = np.column_stack([X, np.ones(len(X))])
        self.ridge_ = Ridge(alpha=len(X) * self.l2, fit_intercept=False)
        self.ridge_.fit(rows, target, sample_weight=weight)
        return self

    def predict(self, X):
        """Return the class of each row."""
        scores = self.ridge_.predict(np.column_stack([X, np.ones(len(X))]))
        return self.classes_[(scores > 0).astype(int)]


def make_rows(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two overlapping classes, 30 % positive."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, d))
    X[:, :5] += 0.5 * y[:, None]
    return X, y


def compare(n: int, d: int, *, fit_goal: float, grid_goal: float) -> None:
    """Print the figures of one size."""
    X, y = make_rows(n, d)
    search = UnevenMarginClassifierCV(costs=COST, margins=MARGINS, l2s=L2S, cv=5)
    times = best_of_each(
        {
            "X.T @ X": lambda: X.T @ X,
            "UnevenMarginClassifier.fit": lambda: UnevenMarginClassifier(cost=COST).fit(X, y),
            "RidgeClassifier.fit": lambda: RidgeClassifier().fit(X, y),
            "UnevenMarginClassifierCV.fit": lambda: search.fit(X, y),
        },
        clock=process_time,
    )
    started = process_time()
    peer = GridSearchCV(
        WeightedRidge(cost=COST), {"margin": MARGINS, "l2": L2S}, cv=5, refit=False
    ).fit(X, y)
    times["GridSearchCV, weighted ridge"] = process_time() - started
    product = times["X.T @ X"]
    print(f"\n{n:,} x {d}: {len(MARGINS)} margins x {len(L2S)} penalties x 5 folds")
    for name, seconds in times.items():
        print(f"  {name:<30} {1e3 * seconds:>10.1f} ms {seconds / product:>9.2f} x (X.T @ X)")
    fit_ratio = times["UnevenMarginClassifier.fit"] / product
    cv = times["UnevenMarginClassifierCV.fit"]
    speedup = times["GridSearchCV, weighted ridge"] / cv
    ridge = cv / times["RidgeClassifier.fit"]
    print(f"  fit / product         {fit_ratio:8.2f}  {verdict(fit_ratio, fit_goal, at_most=True)}")
    print(f"  GridSearchCV / ours   {speedup:8.0f}  {verdict(speedup, grid_goal, at_most=False)}")
    print(f"  ours / RidgeClassifier{ridge:8.2f}  {verdict(ridge, 1.0, at_most=True)}")
    difference = max(
        np.abs(
            search.cv_results_[f"split{k}_test_score"] - peer.cv_results_[f"split{k}_test_score"]
        ).max()
        for k in range(5)
    )
    print(f"  largest difference of a fold's score: {difference:.1e}")
    for name, call in (
        ("fit", lambda: UnevenMarginClassifier(cost=COST).fit(X, y)),
        ("CV ", lambda: search.fit(X, y)),
    ):
        share = peak_extra_bytes(call) / X.nbytes
        print(f"  extra memory of {name} {share:12.1%}  {verdict(share, 0.25, at_most=True)}")


def main() -> None:
    """Print all figures."""
    print("Closed form: speed and memory")
    compare(100_000, 50, fit_goal=2.0, grid_goal=200)
    compare(1_000_000, 20, fit_goal=2.5, grid_goal=150)


if __name__ == "__main__":
    main()
