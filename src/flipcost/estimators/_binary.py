"""What classifiers of two classes share: which one is positive."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from flipcost._validation import encode_labels, positive_index
from flipcost.core.arrays import Array, Flags
from flipcost.core.costs import Costs
from flipcost.core.rates import NoiseRate

# What `_parameter_constraints` say of the parameters that many of them have.
COST_AND_RATE = {
    "cost": [Real, Costs, dict],  # the last for a hint
    "noise_rate": [Real, "array-like", NoiseRate, None],
    "pos_label": "no_validation",
}


class BinaryClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers of two classes, one of which is the positive one.

    Subclasses have the parameter `pos_label`.
    """

    _index = 1

    def _read_labels(self, y: Any, n_rows: int) -> Flags:
        """Keep the classes, and which of them is positive; return which labels are."""
        self.classes_, second = encode_labels(self, y, n_rows)
        self._index = positive_index(self.classes_, self.pos_label)
        return second if self._index == 1 else ~second

    def _columns(self, eta: Array) -> Array:
        """Lay out the probabilities of the positive class as scikit-learn does."""
        return np.column_stack([1 - eta, eta] if self._index == 1 else [eta, 1 - eta])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
