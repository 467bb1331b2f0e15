"""From out-of-fold scores to a classifier: calibrate, choose, keep what scores new rows.

The steps are separate: `calibrate_scores` says what each score means under each rate, `choose`
what to answer, `fit_scores` puts them together in one `FitResult`, whichever way the rows came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from flipcost.core.additive import CurveTables
from flipcost.core.along import RateBand, rates_along
from flipcost.core.calibration import TABLE, Calibration, ScoreBins, calibrate
from flipcost.core.checked import given_label
from flipcost.core.clean_means import cost_sums
from flipcost.core.confusion import Interval
from flipcost.core.curve_fit import log_sum
from flipcost.core.decision import (
    CONSTANTS,
    Answer,
    Regret,
    bayes_calls,
    count_calls,
    decide,
    decide_minimax,
)
from flipcost.core.information import value_of_knowing_rate
from flipcost.core.noise import rate_pair
from flipcost.core.possible import tells_nothing
from flipcost.core.prices import Prices
from flipcost.core.quantiles import weighted_quantile
from flipcost.core.rate_posterior import RatePosterior, rate_posterior
from flipcost.core.rate_search import integrate_rates
from flipcost.core.rates import NoiseRate, purest_tail
from flipcost.exceptions import FlipCostError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from flipcost.core.checked import CheckedRows
    from flipcost.core.noise_models import NoiseModel

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

State: TypeAlias = Literal["clean", "noisy", "undecided", "no_signal", "small"]
SOURCES = {
    "integrate": "integrated out: posterior from the calibration of out-of-fold scores",
    "minimax": "minimax regret over the rates that the posterior leaves plausible",
    "likelihood": "most likely rate, plugged in",
    "range": "range of the noisy probabilities, plugged in",
}
# Rates with less than this share of the likeliest one's weight are not plausible states.
_PLAUSIBLE = 0.01
# Rates, and scores, that weigh less than this share of the heaviest change no digit that is shown.
_NEGLIGIBLE = 1e-3
# Rows that the value of knowing the rate is averaged over, at least: it is a figure to plan by.
_VALUE_ROWS = 1_000
# What "range" takes for the ends of the noisy probabilities; the very extremes are mostly chance.
_RANGE_ENDS = (0.01, 0.99)
_LARGEST_RATE = 0.48
# Fewer rows of a label than this say nothing of noise: a curve through them fits anything.
_FEW_ROWS = 20
# Labels are "clean" when at most this share can be wrong, and "noisy" when at least this share is
# and the interval is no wider than that.
_CLEAN, _SOME, _WIDE = 0.03, 0.005, 0.2
# Rows in the smallest tail that bounds a rate; fewer bound nothing at any level that is used.
_SMALLEST_TAIL = 10
# A share of positives this many standard errors off cannot come from the rate that was given.
_IMPOSSIBLE = 4.0


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
    """

    cost: float
    noise_rate: Any
    noise_model: Any
    level: float
    unit: float = 1.0
    by_row: bool = False


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with their out-of-fold scores, or what stands for the rows.

    Attributes
    ----------
    bins : tuple of ScoreBins
        Labels of all rows in bins of each score.
    scores : tuple of ndarray of shape (n,)
        Scores in the units of the bins.
    positive : ndarray of bool, shape (n,)
        The noisy labels.
    weight : ndarray of shape (n,) or None
        Weights.
    n_rows : int
        How many rows there are, or these stand for.
    positive_share : float
        Share of positive labels in all rows.
    call_squares : callable or None
        As in `flipcost.core.decision.count_calls`, where these stand for more rows.
    checked : CheckedRows or None
        Those among them whose right label is known.
    prices : Prices or None
        What their mistakes cost, where that differs by row.
    design : float, default=1.0
        Design effect (`flipcost.core.dependence`): rows count for so many times fewer.
    call_design : callable or None
        As in `flipcost.core.decision.decide`, where rows depend on each other and have prices.
    """

    bins: tuple[ScoreBins, ...]
    scores: tuple[Array, ...]
    positive: Flags
    weight: Array | None
    n_rows: int
    positive_share: float
    call_squares: Callable[[Flags], Array] | None = None
    checked: CheckedRows | None = None
    prices: Prices | None = None
    design: float = 1.0
    call_design: Callable[[Flags, RatePosterior], float] | None = None

    @property
    def n_effective(self) -> float:
        """Rows that these count for."""
        return self.n_rows / self.design

    @classmethod
    def from_scores(
        cls,
        scores: Array,
        positive: Flags,
        weight: Array | None,
        checked: CheckedRows | None = None,
        prices: Prices | None = None,
    ) -> ScoredRows:
        """Bin scores of shape (n_scores, n)."""
        found = [ScoreBins.standardizing(s, positive, weight) for s in scores]
        bins = tuple(b for b, _ in found)
        if checked is not None:
            rows = checked.rows
            w = None if weight is None else weight[rows]
            bins = tuple(
                b.with_checked(s[rows], checked.right, positive[rows], w)
                for b, s in zip(bins, scores, strict=True)
            )
        standard = tuple(z for _, z in found)
        share = float(np.average(positive, weights=weight))
        n_rows = len(positive)
        return cls(bins, standard, positive, weight, n_rows, share, checked=checked, prices=prices)


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
        Out-of-fold probability that each row is positive, clean.
    scorer_weights : ndarray
        Posterior weight of each score.
    curves : ScoreCurves
        What gives the probability of new rows.
    value_of_rate : float
        What knowing the rate would save a row.
    bounds : NoiseRate
        Upper bounds of both rates that hold whatever the curve.
    wrong_share : Interval
        Share of all labels that are wrong.
    n_checked : int
        Rows whose right label is known.
    n_effective : float or None
        Rows that these count for, where they depend on each other; all when None.
    along : tuple of RateBand
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
    scorer_weights: Array
    curves: ScoreCurves
    value_of_rate: float
    bounds: NoiseRate
    wrong_share: Interval
    n_checked: int = 0
    n_effective: float | None = None
    along: tuple[RateBand, ...] = ()

    @property
    def state(self) -> State:
        """What can be said of the labels."""
        bins = self.bins[0]
        if bins.rarer < _FEW_ROWS:
            return "small"
        if self.posterior.has_no_signal:
            return "no_signal"
        most = self.wrong_share.high
        if not self.n_checked:
            most = min(most, most_wrong(self.bounds, bins.noisy_share))
        # More wrong labels than the bounds allow: one of the two is mistaken.
        if most < _CLEAN and self.wrong_share.value < _CLEAN:
            return "clean"
        wide = self.wrong_share.high - self.wrong_share.low > _WIDE or most < self.wrong_share.low
        wide = wide or self.posterior.doubt(self.n_effective or self.n_rows) is not None
        return "undecided" if wide or self.wrong_share.low < _SOME else "noisy"

    @property
    def noise_rate(self) -> float | tuple[float, float]:
        """Posterior mean of the rate, or of ``(rho_pos, rho_neg)``."""
        rho_pos, rho_neg = (float(rate) for rate in self.posterior.mean)
        return rho_pos if self.has_one_rate else (rho_pos, rho_neg)

    @property
    def has_one_rate(self) -> bool:
        """Whether both classes share a rate by assumption, not because it turned out so."""
        return self.posterior.is_symmetric and _model_in_doubt(self.options) in (None, "symmetric")

    @property
    def doubt(self) -> str | None:
        """Why a rate that was given identifies nothing, or None where it does."""
        if isinstance(self.options.noise_rate, NoiseRate):
            return tells_nothing(self.options.noise_rate)
        return self.posterior.doubt(self.n_effective or self.n_rows)

    @property
    def rate_is_known(self) -> bool:
        """Whether the rate was taken as known: nothing was integrated over."""
        return len(self.posterior.weight) == 1


def fit_scores(
    rows: ScoredRows,
    options: FitOptions,
    reweigh: Callable[[int], ScoredRows] | None = None,
) -> FitResult:
    """Calibrate out-of-fold scores, and choose.

    Parameters
    ----------
    rows : ScoredRows
        What to learn from.
    options : FitOptions
        Cost, noise and level.
    reweigh : callable, optional
        From the score that leads the pool to the same rows with the weights to choose by.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores, options = rng.normal(size=(1, 2000)), FitOptions(0.3, 0.1, "symmetric", 0.95)
    >>> noisy = (rng.random(2000) < 1 / (1 + np.exp(-3 * scores[0]))) ^ (rng.random(2000) < 0.1)
    >>> result = fit_scores(ScoredRows.from_scores(scores, noisy, None), options)
    >>> result.chosen, result.noise_rate, result.value_of_rate
    ('rule', 0.1, 0.0)
    """
    calibration, source = calibrate_scores(rows, options)
    if reweigh is not None:
        rows = reweigh(int(calibration.weight.sum(axis=1).argmax()))
    posterior = rate_posterior(rows.bins, calibration, _model_in_doubt(options))
    answer, rate, regret = None, None, None
    if isinstance(options.noise_rate, str) and options.noise_rate == "minimax":
        answer, rate, regret = _least_regret(rows, calibration, posterior, options)
    probability = calibration.probability(rows.scores, rate)
    decision = decide(
        rows.positive,
        probability,
        options.cost if rows.prices is None else rows.prices,
        posterior,
        rows.weight,
        call_squares=rows.call_squares,
        checked=rows.checked,
        call_design=rows.call_design,
        level=options.level,
    )
    unit = options.unit if rows.prices is None else 1.0
    weight = calibration.weight
    if rate is not None:
        weight = np.where(np.arange(weight.shape[1]) == rate, weight, 0.0)
        weight = weight / weight.sum()
    return FitResult(
        options=options,
        n_rows=rows.n_rows,
        bins=rows.bins,
        source=source,
        posterior=posterior,
        chosen=answer or decision.chosen,
        costs={name: _in_money(cost, unit) for name, cost in decision.costs.items()},
        regret=regret,
        probability=probability,
        scorer_weights=weight.sum(axis=1),
        curves=_curves(rows.bins, calibration, weight),
        value_of_rate=unit * _value_of_rate(rows, calibration, posterior, options.cost),
        bounds=_bounds(rows.bins[int(weight.sum(axis=1).argmax())], options.level),
        wrong_share=posterior.wrong_share(rows.positive_share, options.level, rows.n_effective),
        n_checked=0 if rows.checked is None else len(rows.checked.rows),
        n_effective=rows.n_effective,
        along=_along(rows, probability, posterior, options.level),
    )


def calibrate_scores(rows: ScoredRows, options: FitOptions) -> tuple[Calibration, str]:
    """Return the calibration over the rates that are left open, and where the rate came from.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores, options = rng.normal(size=(1, 2000)), FitOptions(0.3, (0.1, 0.2), "symmetric", 0.95)
    >>> noisy = (rng.random(2000) < 1 / (1 + np.exp(-3 * scores[0]))) ^ (rng.random(2000) < 0.1)
    >>> calibration, source = calibrate_scores(
    ...     ScoredRows.from_scores(scores, noisy, None), options
    ... )
    >>> calibration.rates, source
    (array([[0.1, 0.2]]), 'given')
    """
    rate = _told_by(options)
    if isinstance(rate, str):
        if rate == "range":
            return calibrate(rows.bins, [_range(rows, options.noise_model)]), SOURCES[rate]
        _check_model(rows.bins[0], options.noise_model)
        fit = integrate_rates(rows.bins, options.noise_model)
        if rate == "likelihood":
            best = fit.rates[int(np.argmax(log_sum(fit.log_evidence, axis=0)))]
            fit = calibrate(rows.bins, [best])
        return fit, SOURCES[rate]
    known = _prior_of(rate)
    if known is not None:
        source = f"given with its interval: {rate.source}"
        return integrate_rates(rows.bins, known=known), source
    pair = rate_pair(rate)
    _check_possible(pair, rows.positive_share, rows.n_effective)
    return calibrate(rows.bins, [pair]), "given"


def _along(
    rows: ScoredRows, probability: Array, posterior: RatePosterior, level: float
) -> tuple[RateBand, ...]:
    """Return how rates change along the score, as far as checked rows tell."""
    if rows.checked is None:
        return ()
    expected = given_label(probability, rows.positive, posterior.mean)
    return rates_along(rows.checked, rows.positive, probability, expected, rows.weight, level)


def _in_money(cost: Interval, unit: float) -> Interval:
    return cost if unit == 1.0 else Interval(unit * cost.value, unit * cost.low, unit * cost.high)


def _model_in_doubt(options: FitOptions) -> NoiseModel | None:
    """Return the noise model whose rates were inferred, or None when they were given."""
    rate = _told_by(options)
    inferred = isinstance(rate, str) and rate in ("integrate", "minimax")
    return options.noise_model if inferred else None


def _check_model(bins: ScoreBins, noise_model: NoiseModel) -> None:
    """Refuse a noise model that checked rows contradict: under it they cannot be."""
    sides = {"missed_positives": ("negative", bins.flips[0, 1]),
             "wrong_negatives": ("positive", bins.flips[1, 0])}  # fmt: skip
    side, wrong = sides.get(noise_model, ("", 0.0))
    if wrong > 0:
        msg = (
            f"`noise_model={noise_model!r}` leaves no labels of {side} rows wrong, but some that "
            "were checked are. Give 'auto'."
        )
        raise FlipCostError(msg)


def _told_by(options: FitOptions) -> Any:
    """Return the rate that was given; "integrate" where it is an estimate that tells nothing."""
    rate = options.noise_rate
    return "integrate" if isinstance(rate, NoiseRate) and tells_nothing(rate) else rate


def _bounds(bins: ScoreBins, level: float) -> NoiseRate:
    """Bound both rates by the purest tails of a score."""
    total = bins.positive + bins.negative
    high = []
    for odd, order in ((bins.negative, slice(None, None, -1)), (bins.positive, slice(None))):
        tails = np.cumsum(np.column_stack([odd, total])[order], axis=0)
        # Sums of weights in another order differ in the last digits.
        tails = tails[tails[:, 1] >= min(_SMALLEST_TAIL, (1 - 1e-9) * total.sum())]
        high.append(min(1.0, purest_tail(tails, 1 - level).limit))
    value = tuple(limit / 2 for limit in high)
    return NoiseRate(value, (0.0, 0.0), tuple(high), "purest tails of the score", level)  # type: ignore[arg-type]


def most_wrong(bounds: NoiseRate, noisy_share: float) -> float:
    """Return the largest share of wrong labels that bounds of both rates leave.

    Examples
    --------
    >>> bounds = NoiseRate((0.1, 0.01), (0.0, 0.0), (0.2, 0.02), "", 0.95)
    >>> round(most_wrong(bounds, 0.4), 6)
    0.12
    """
    rho_pos, rho_neg = np.ravel(bounds.high)
    # Of positive labels at most what wrong negatives give, of negative ones what missed ones do.
    kept = max(1 - rho_pos, 1e-9)
    return float(min(rho_neg, noisy_share) + min(rho_pos * noisy_share / kept, 1 - noisy_share))


def _range(rows: ScoredRows, noise_model: NoiseModel) -> tuple[float, float]:
    """Estimate rates from the extremes of the noisy probability, as Menon et al. do."""
    noisy = calibrate(rows.bins, [(0.0, 0.0)]).probability(rows.scores)
    low, high = (float(end) for end in weighted_quantile(noisy, _RANGE_ENDS, rows.weight))
    if noise_model == "symmetric":
        return (min(_LARGEST_RATE, (low + 1 - high) / 2),) * 2
    return 1 - high, low


def _prior_of(rate: Any) -> tuple[Array, Array] | None:
    """Return values and standard errors of rates that come with an interval, else None."""
    if not isinstance(rate, NoiseRate):
        return None
    width = np.subtract(rate.high, rate.low)
    if np.all(width <= 0):
        return None
    return np.asarray(rate.value), np.asarray(width / (2 * ndtri((1 + rate.level) / 2)))


def _check_possible(pair: tuple[float, float], share: float, n_rows: float) -> None:
    """Refuse a rate that the share of positive labels contradicts beyond chance."""
    slack = _IMPOSSIBLE * np.sqrt(0.25 / n_rows)
    rho_pos, rho_neg = pair
    if not rho_neg - slack <= share <= 1 - rho_pos + slack:
        msg = (
            f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) is impossible for these labels: it implies "
            f"a share of positive labels between {rho_neg:g} and {1 - rho_pos:g}, but the share is "
            f"{share:.4g}. Give a smaller rate, or one for each class as (rho_pos, rho_neg)."
        )
        raise ValueError(msg)


def _least_regret(
    rows: ScoredRows, calibration: Calibration, posterior: RatePosterior, options: FitOptions
) -> tuple[Answer, int, Regret]:
    """Return the answer whose worst regret is least, the rate whose rule that is, and regrets."""
    share = posterior.weight
    likely = np.flatnonzero(share > _PLAUSIBLE * share.max())
    states = RatePosterior(posterior.rates[likely], share[likely] / share[likely].sum())

    cost = options.cost if rows.prices is None else rows.prices

    def count(probability: Array, answer: Answer = "rule") -> Any:
        called = bayes_calls(probability, cost, answer)
        if isinstance(cost, Prices):
            return cost_sums(rows.positive, called, cost, rows.weight)
        return count_calls(rows.positive, called, rows.weight)

    rules = [count(eta) for eta in calibration.probabilities(rows.scores, likely)]
    constants = {name: count(rows.scores[0], name) for name in CONSTANTS}
    answer, rate, regret = decide_minimax(rules, constants, cost, states)
    if rows.prices is None:
        unit = options.unit
        regret = Regret(
            unit * regret.cost, unit * regret.regret, unit * regret.worst, regret.chosen
        )
    return answer, int(likely[rate]), regret


def _curves(bins: Sequence[ScoreBins], calibration: Calibration, weight: Array) -> ScoreCurves:
    """Keep what scores new rows: the scores that count, and their curves."""
    by_score = weight.sum(axis=1)
    which = np.flatnonzero(by_score > _NEGLIGIBLE * by_score.max())
    share = weight[which] / weight[which].sum()
    curves = np.einsum("mr,mrt->mt", share, calibration.curves[which])
    # Rounding must not add up to more than one.
    return ScoreCurves(
        which,
        np.array([bins[int(m)].location for m in which]),
        np.array([bins[int(m)].scale for m in which]),
        curves / max(1.0, float(curves.max(axis=1).sum()) * (1 + 1e-15)),
    )


def _value_of_rate(
    rows: ScoredRows, calibration: Calibration, posterior: RatePosterior, cost: float
) -> float:
    """Find what not knowing the rate costs a row, from some of the rows."""
    step = max(1, len(rows.positive) // _VALUE_ROWS)
    sample = [s[::step] for s in rows.scores]
    share = posterior.weight
    likely = np.flatnonzero(share > _NEGLIGIBLE * share.max())
    return value_of_knowing_rate(
        calibration.probabilities(sample, likely),
        share[likely],
        cost if rows.prices is None else rows.prices.take(slice(None, None, step)),
        None if rows.weight is None else rows.weight[::step],
    )
