"""What a fit is asked, and what it found: rates, costs, curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core import priors
from flipcost.core.arrays import Array
from flipcost.core.calibration import TABLE
from flipcost.core.confusion import Interval
from flipcost.core.costs import RowCosts
from flipcost.core.label_errors import LabelErrors, State, most_wrong
from flipcost.core.noise import NoiseRate, why_uninformative
from flipcost.core.scoring import CurveTables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from flipcost.core.calibration import ScoreBins
    from flipcost.core.checked_rows import RateBand
    from flipcost.core.correction import Correction
    from flipcost.core.decision import Answer, Regret
    from flipcost.core.error_rates import RatePosterior
    from flipcost.core.label_errors import BreakEven
    from flipcost.core.noise_posterior import NoiseModel, PrevalencePrior
    from flipcost.estimators.flipcost.rows import ScoredRows

# What may be said in place of a rate, and where the rate then comes from.
SOURCES = {
    "integrate": "integrated out: posterior from the calibration of out-of-fold scores",
    "minimax": "minimax regret over the rates that the posterior leaves plausible",
}


@dataclass(frozen=True)
class FitOptions:
    """Parameters of the classifier that the steps need, checked.

    Attributes
    ----------
    cost : float
        Share of the cost that a false positive bears; where prices differ by row, that of their
        means, which nothing is decided by.
    noise_rate, noise_model, level
        As in `FlipCostClassifier`.
    unit : float
        What a cost of 1, as a share, is in the user's money; 1 when the cost was given as a share.
        Of mean prices where they differ by row: costs are counted in money then.
    by_row : bool
        Whether prices differ by row.
    prevalence : PrevalencePrior or None
        What is known of the share of positives.
    """

    cost: float
    noise_rate: Any
    noise_model: Any
    level: float
    unit: float = 1.0
    by_row: bool = False
    prevalence: PrevalencePrior | None = None

    @property
    def given_rate(self) -> Any:
        """The rate that was given; "integrate" where it is an estimate that tells nothing."""
        rate = self.noise_rate
        return "integrate" if isinstance(rate, NoiseRate) and why_uninformative(rate) else rate

    @property
    def measured_on(self) -> str:
        """What a rate that was given with its interval was measured on; "" without one."""
        rate = self.given_rate
        if not isinstance(rate, NoiseRate) or not np.any(np.greater(rate.high, rate.low)):
            return ""
        return rate.source

    def costs_of(self, rows: ScoredRows) -> RowCosts:
        """Return the costs that rows are decided by: their own, or the share."""
        return RowCosts.of(self.cost if rows.prices is None else rows.prices)

    def unit_of(self, rows: ScoredRows) -> float:
        """Return what turns these costs into the user's money."""
        return self.unit if rows.prices is None else 1.0

    @property
    def model_in_doubt(self) -> NoiseModel | None:
        """The noise model whose rates were inferred, or None when they were given."""
        rate = self.given_rate
        inferred = isinstance(rate, str) and rate in ("integrate", "minimax")
        return self.noise_model if inferred else None


@dataclass(frozen=True, eq=False)
class ScoreCurves:
    """What turns scores into clean probabilities: the scores that count, and a curve for each.

    Attributes
    ----------
    which : ndarray of int, shape (m,)
        The scores that count.
    location, scale : ndarray of shape (m,)
        What standardizes them.
    curves : ndarray of shape (m, 121)
        Their shares of the probability, on the standardized scores of `TABLE`.
    """

    which: NDArray[np.intp]
    location: Array
    scale: Array
    curves: Array

    def probability(self, scores: Array) -> Array:
        """Return the clean probability of rows from the scores that count, shape (m, n)."""
        slope, offset = self.places()
        return self.tables().sum_at(slope[:, None] * scores + offset[:, None])

    def places(self) -> tuple[Array, Array]:
        """Return slope and offset that take each score to its place in the tables."""
        step = (TABLE[-1] - TABLE[0]) / (len(TABLE) - 1)
        slope = 1 / (step * self.scale)
        return slope, -self.location * slope - TABLE[0] / step

    def tables(self) -> CurveTables:
        """Return the curves, on places 0, 1, ... in place of the standardized scores of `TABLE`.

        Curves are integrated in single precision; what that lets fall, by 1e-7, is levelled.
        """
        return CurveTables(np.maximum.accumulate(self.curves, axis=1))


@dataclass(frozen=True, eq=False)
class FitResult:
    """What a fit found, whichever way the rows came.

    Attributes
    ----------
    options : FitOptions
        What was asked.
    n_rows : int
        Rows that were learned from.
    bins : tuple of ScoreBins
        Labels of all rows in bins of each score.
    source : str
        Where the rate came from.
    posterior : RatePosterior
        Over the noise rates.
    chosen : {"rule", "all_negative", "all_positive"}
        What to answer.
    costs : dict of Interval
        Clean cost of a row under each of these, in the user's units.
    regret : Regret or None
        Over plausible rates, when these decided.
    probability : ndarray of shape (n,)
        Out-of-fold probability that each row is positive, by which decisions are made.
    labels_trusted : bool
        Whether that is the probability of the recorded label: allowing for errors is not expected
        to save more than its standard error.
    scorer_weights : ndarray
        Posterior weight of each score.
    curves : ScoreCurves
        What gives the probability of new rows.
    value_of_information : float
        What knowing the rate would save a row.
    bounds : NoiseRate
        Upper bounds of both rates that hold whatever the curve.
    wrong_share : Interval
        Share of all labels that are wrong; without checked rows its interval also counts that
        errors may be systematic.
    break_even : BreakEven or None
        How many systematic errors it takes to change the decision.
    n_checked : int
        Rows whose right label is known.
    n_clean : int
        Rows beside these whose right label is known.
    correction : tuple of ScoreCurves and Correction, or None
        The scores that count without, and how checked rows made one score, the last, of them.
    n_effective : float
        Rows that these count for: fewer where they depend on each other.
    noise_by_score : tuple of RateBand
        How rates change along the score, with checked rows.
    """

    options: FitOptions
    n_rows: int
    bins: tuple[ScoreBins, ...]
    source: str
    posterior: RatePosterior
    chosen: Answer
    costs: Mapping[Answer, Interval]
    regret: Regret | None
    probability: Array
    labels_trusted: bool
    scorer_weights: Array
    curves: ScoreCurves
    value_of_information: float
    bounds: NoiseRate
    wrong_share: Interval
    n_effective: float
    n_checked: int = 0
    n_clean: int = 0
    correction: tuple[ScoreCurves, Correction] | None = None
    noise_by_score: tuple[RateBand, ...] = ()
    break_even: BreakEven | None = None

    @property
    def wrong_share_if_random(self) -> Interval:
        """The same share, with the interval that holds if errors are random.

        With checked rows, or a rate that was given, it is `wrong_share` itself.
        """
        if self.n_checked or self.rate_is_known:
            return self.wrong_share
        return self.posterior.if_random.wrong_share(
            self.bins[0].label_share, self.options.level, self.n_effective
        )

    @property
    def wrong_share_bound(self) -> float:
        """The most that can be wrong if errors are random, whatever the curve of the labels."""
        share = self.wrong_share_if_random
        if self.n_checked or self.rate_is_known:
            return share.high
        return max(most_wrong(self.bounds, self.bins[0].label_share), share.value)

    @property
    def state(self) -> State:
        """What is known about the labels."""
        bins = self.bins[0]
        if bins.rarer < priors.SMALL_ROWS:
            return "small"
        if self.posterior.has_no_signal:
            return "no_signal"
        share = self.wrong_share_if_random
        # Few checked rows bound little, but take nothing from what the tails of the score bound.
        plain = self.posterior.if_random
        by_class = max(high for _, high in plain.interval(self.options.level))
        few = plain.wrong_share(bins.label_share, self.options.level).high < priors.CLEAN_SHARE
        tails = most_wrong(self.bounds, bins.label_share)
        bound = min(self.wrong_share_bound, tails)
        if self.n_checked:
            by_class = max(by_class, *self.posterior.estimate.tolist())
        if few and by_class < priors.CLEAN_CLASS and bound < priors.CLEAN_BOUND:
            return "clean"
        # What was counted on checked rows is no supposition: too many for clean labels is noisy.
        if self.n_checked and share.low >= priors.CLEAN_SHARE:
            return "noisy"
        # More wrong labels than the bounds allow: one of the two is mistaken.
        wide = (
            share.high - share.low > priors.WIDE_SHARE
            or (tails < share.low and not self.n_checked)
            or self.posterior.why_uninformative(self.n_effective) is not None
        )
        return "undecided" if wide or self.decision_is_open else "noisy"

    @property
    def label_errors(self) -> LabelErrors:
        """How many labels are wrong, by what is supposed of errors."""
        share, level = self.wrong_share_if_random, self.options.level
        # The posterior without the doubt that errors may be systematic.
        is_plain = self.n_checked or self.rate_is_known
        plain = self.posterior if is_plain else self.posterior.if_random
        mean, ends = self.posterior.estimate, plain.interval(level)
        says_nothing = self.state in ("no_signal", "small") and not self.rate_is_known
        return LabelErrors(
            state=self.state,
            share=share,
            most=max(self.wrong_share.high, share.high),
            rates=(Interval(float(mean[0]), *ends[0]), Interval(float(mean[1]), *ends[1])),
            n_checked=self.n_checked,
            n_clean=self.n_clean,
            is_given=self.rate_is_known,
            prevalence=None
            if says_nothing
            else plain.prevalence(self.bins[0].label_share, self.n_effective, level),
        )

    @property
    def decision_is_open(self) -> bool:
        """Whether knowing the rate would save more than a little: other rates decide otherwise."""
        return self.value_of_information >= priors.LITTLE * self.costs[self.chosen].value > 0

    @property
    def why_uninformative(self) -> str | None:
        """Why a rate that was given identifies nothing, or None where it does."""
        if isinstance(self.options.noise_rate, NoiseRate):
            return why_uninformative(self.options.noise_rate)
        return self.posterior.why_uninformative(self.n_effective)

    @property
    def rate_is_known(self) -> bool:
        """Whether the rate was taken as known: nothing was integrated over."""
        return self.posterior.is_known
