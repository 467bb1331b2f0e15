"""Pictures in scikit-learn's Display form: what the report shows, on axes of your own.

Each class holds what is drawn and draws it with `plot`; `from_estimator` and `from_predictions`
compute it. Drawing needs matplotlib.
"""

from flipcost.plot._bands import (
    BandDisplay,
    DecisionCurveDisplay,
    LiftDisplay,
    PriceCurveDisplay,
    ProfitDisplay,
)
from flipcost.plot._boundary import DecisionBoundaryDisplay
from flipcost.plot._cost_curve import CostCurveDisplay
from flipcost.plot._noise_path import NoisePathDisplay
from flipcost.plot._regret import RegretDisplay

__all__ = [
    "BandDisplay",
    "CostCurveDisplay",
    "DecisionBoundaryDisplay",
    "DecisionCurveDisplay",
    "LiftDisplay",
    "NoisePathDisplay",
    "PriceCurveDisplay",
    "ProfitDisplay",
    "RegretDisplay",
]
