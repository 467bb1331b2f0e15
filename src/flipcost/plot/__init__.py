"""Pictures in scikit-learn's Display form: what the report shows, on axes of your own.

Each class holds what is drawn and draws it with `plot`; `from_estimator` and `from_predictions`
compute it. Drawing needs matplotlib.
"""

from flipcost.plot._boundary import DecisionBoundaryDisplay
from flipcost.plot._curves import (
    BandDisplay,
    CostCurveDisplay,
    DecisionCurveDisplay,
    LiftDisplay,
    PriceCurveDisplay,
    ProfitDisplay,
)

__all__ = [
    "BandDisplay",
    "CostCurveDisplay",
    "DecisionBoundaryDisplay",
    "DecisionCurveDisplay",
    "LiftDisplay",
    "PriceCurveDisplay",
    "ProfitDisplay",
]
