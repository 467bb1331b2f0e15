"""Theorem 1 refuted: three laws to look at, and one built for any setting in which it fails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flipcost.core.costs import CostLike, cost_share
from flipcost.core.noise import NoiseRateLike, clean_threshold, rate_pair
from flipcost.theory.bayes import noise_fixed_point
from flipcost.theory.law import DiscreteLaw
from flipcost.theory.robustness import (
    RobustnessReport,
    linear_minimiser,
    robustness_report,
    theorem_1_holds,
)


@dataclass(frozen=True, eq=False)
class CounterExample:
    """A law on which the linear rule does not survive noise.

    Attributes
    ----------
    name : str
        What it is.
    shows : str
        What it shows, in one sentence.
    report : RobustnessReport
        The clean and the noisy rule side by side.
    """

    name: str
    shows: str
    report: RobustnessReport

    def __str__(self) -> str:
        return f"{self.name}: {self.shows}\n{self.report}"


def theorem_1_counterexamples() -> tuple[CounterExample, CounterExample, CounterExample]:
    """Return the three counter-examples to Theorem 1, computed.

    Each law is within reach of the theorem as stated: symmetric noise below one half and linear
    scores. In each the noisy rule does not cost what the clean one does.

    Examples
    --------
    >>> for example in theorem_1_counterexamples():
    ...     clean, noisy = (example.report.cost_paid[k] for k in ("clean", "noisy"))
    ...     print(f"{example.name}: {clean:.4f} -> {noisy:.4f}")
    constant eta: 0.1500 -> 0.2000
    two points: 0.0500 -> 0.1500
    even cost, uneven margin: 0.1244 -> 0.1095
    """
    return (
        CounterExample(
            "constant eta",
            "the paper's own Example 3: the best function is a constant, which is linear, and "
            "noise turns its sign, whatever the penalty.",
            robustness_report(DiscreteLaw([0.0], [1.0], [0.2]), 0.25, 0.4, noise_rate=0.3),
        ),
        CounterExample(
            "two points",
            "an even margin does not help when the cost is uneven: the cost triples.",
            robustness_report(DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9]), 0.3, noise_rate=0.4),
        ),
        CounterExample(
            "even cost, uneven margin",
            "nor does an even cost when the margin is uneven: the middle point changes sides "
            "(here for the better, which robustness does not promise either).",
            robustness_report(
                DiscreteLaw([0, 1, 4], [0.396, 0.21, 0.394], [0.768, 0.571, 0.094]),
                0.5,
                0.2,
                noise_rate=0.4,
            ),
        ),
    )


def theorem_1_counterexample(
    cost: CostLike, margin: float, noise_rate: NoiseRateLike, l2: float = 0.0
) -> CounterExample:
    """Build a law on which this cost, margin and noise rate break Theorem 1.

    There is one for every setting but the one in which the theorem does hold, which makes the
    condition of :func:`theorem_1_holds` exact.

    Parameters
    ----------
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float
        Uneven margin of the negative class.
    noise_rate : float or pair of floats
        The noise rate, not zero.
    l2 : float, default=0
        Ridge penalty, bias included.

    Raises
    ------
    ValueError
        When the linear rule is robust in this setting on every law.

    Notes
    -----
    *Cost off the fixed point.* One point, its probability halfway between the cost and the
    threshold that noise makes of it: the sign of the only score changes.

    *Cost at the fixed point, margin not the parallel one.* Two points determine a line; noise
    multiplies its two values by different factors, hence moves its zero. A third point between
    the two zeros, of mass small enough, changes sides.

    Examples
    --------
    >>> theorem_1_counterexample(0.2, 4.0, 0.1).report.robust
    False
    >>> theorem_1_counterexample(0.5, 1.1, 0.01).report.robust
    False
    """
    if theorem_1_holds(cost, margin, noise_rate):
        msg = (
            "There is no counter-example at the fixed point of the noise with the parallel margin "
            f"(cost 1/2 and margin 1 if symmetric) or without noise; got cost {cost}, margin "
            f"{margin} and noise rate {noise_rate}."
        )
        raise ValueError(msg)
    share = cost_share(cost)
    # The line between "at" and "off" is that of theorem_1_holds, one part in 10^12.
    if abs(share - noise_fixed_point(noise_rate)) > 1e-12 * share:
        law = _between_thresholds(share, noise_rate)
        shows = "one point whose probability lies between the two thresholds."
    else:
        law = _between_zeros(share, margin, noise_rate, l2)
        shows = "a light third point between the zeros of two lines."
    report = robustness_report(law, cost, margin, noise_rate=noise_rate, l2=l2)
    return CounterExample(f"built for rates {rate_pair(noise_rate)}", shows, report)


def _between_thresholds(share: float, noise_rate: NoiseRateLike) -> DiscreteLaw:
    induced = np.clip(float(clean_threshold(share, noise_rate)), 0.0, 1.0)
    return DiscreteLaw([0.0], [1.0], [(share + induced) / 2])


def _between_zeros(
    share: float, margin: float, noise_rate: NoiseRateLike, l2: float
) -> DiscreteLaw:
    eta = [share / 2, (1 + share) / 2]
    pair = DiscreteLaw([0.0, 1.0], [0.5, 0.5], eta)
    zeros = [_zero(pair, share, margin, l2), _zero(pair.noisy(noise_rate), share, margin, l2)]
    points = [0.0, 1.0, sum(zeros) / 2]
    light = 0.1
    while True:
        # Both minimizers move continuously with the mass of the third point: some mass will do.
        mass = [(1 - light) / 2, (1 - light) / 2, light]
        law = DiscreteLaw(points, mass, [*eta, eta[1]])
        report = robustness_report(law, share, margin, noise_rate=noise_rate, l2=l2)
        if not report.robust:
            return law
        if light < 1e-12:
            msg = (
                f"cost {share:g} and margin {margin:g} are too close to the robust setting for a "
                "counter-example to show in double precision; move them apart."
            )
            raise ValueError(msg)
        light /= 4


def _zero(law: DiscreteLaw, share: float, margin: float, l2: float) -> float:
    slope, bias = linear_minimiser(law, share, margin, l2)
    return float(-bias / slope)
