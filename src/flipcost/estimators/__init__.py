"""Classifiers in scikit-learn's form: validate, delegate to the core, store."""

from flipcost.estimators._uneven_margin import UnevenMarginClassifier
from flipcost.estimators._uneven_margin_cv import UnevenMarginClassifierCV

__all__ = ["UnevenMarginClassifier", "UnevenMarginClassifierCV"]
