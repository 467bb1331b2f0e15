"""From out-of-fold scores to a classifier: calibrate, choose, keep what scores new rows.

`calibrate_scores` says what each score means under each rate; `fit_scores` decides what to answer,
and puts all that was found together in one `FitResult`, whichever way the rows came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, ndtri

from flipcost.core.calibration import TABLE, calibrate
from flipcost.core.checked_rows import RateBand, given_label, rates_by_score_band
from flipcost.core.clean_means import LabelSums, cost_sums
from flipcost.core.correction import Correction, learn_correction
from flipcost.core.costs import RowCosts
from flipcost.core.decision import (
    CONSTANTS,
    Answer,
    Decision,
    Regret,
    bayes_flags,
    decide,
    decide_minimax,
    saves_enough,
    value_of_knowing_rate,
)
from flipcost.core.error_rates import RatePosterior, clean_share
from flipcost.core.label_errors import break_even_errors
from flipcost.core.noise import NoiseRate, purest_tail, rate_pair
from flipcost.core.noise_posterior import integrate_rates, rate_posterior
from flipcost.estimators.flipcost.result import SOURCES, FitOptions, FitResult, ScoreCurves
from flipcost.exceptions import FlipCostError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flipcost.core.arrays import Array
    from flipcost.core.calibration import Calibration, ScoreBins
    from flipcost.core.noise_posterior import NoiseModel, PrevalencePrior
    from flipcost.estimators.flipcost.rows import ScoredRows


# A share of positives this many standard errors off cannot come from the rate that was given.
_IMPOSSIBLE = 4.0


def calibrate_scores(rows: ScoredRows, options: FitOptions) -> tuple[Calibration, str]:
    """Return the calibration over the rates that are left open, and where the rate came from."""
    rate = options.given_rate
    if options.prevalence is not None and rate not in ("integrate", "minimax"):
        msg = (
            "`prevalence` counts only where the error rate is unknown; with `noise_rate` as given "
            "it has no effect. Give one of the two."
        )
        raise ValueError(msg)
    if isinstance(rate, str):
        _check_model(rows.bins[0], options.noise_model)
        fit = integrate_rates(rows.bins, options.noise_model, prevalence=options.prevalence)
        return fit, _rate_source(rate, options.prevalence, rows.n_clean)
    rate_prior = _prior_of(rate)
    if rate_prior is not None:
        source = f"given with its interval: {rate.source}"
        return integrate_rates(rows.bins, rate_prior=rate_prior), source
    pair = rate_pair(rate)
    check_possible(pair, rows.label_share, rows.n_effective)
    return calibrate(rows.bins, [pair]), "given"


def _rate_source(rate: str, prevalence: PrevalencePrior | None, n_clean: int) -> str:
    """Say where the rate came from."""
    known = []
    if prevalence is not None:
        known.append(
            f"the prevalence that was given, {prevalence.low:.3g} to {prevalence.high:.3g}"
        )
    if n_clean:
        known.append(f"{n_clean:,} rows with clean labels")
    if not known:
        return SOURCES[rate]
    return f"{', '.join(known)}, and the calibration of out-of-fold scores"


def _check_model(bins: ScoreBins, noise_model: NoiseModel) -> None:
    """Refuse a noise model that checked rows contradict."""
    sides = {"missed_positives": ("negative", bins.flips[0, 1]),
             "wrong_negatives": ("positive", bins.flips[1, 0])}  # fmt: skip
    side, wrong = sides.get(noise_model, ("", 0.0))
    if wrong > 0:
        msg = (
            f"`noise_model={noise_model!r}` leaves no labels of {side} rows wrong, but some that "
            "were checked are. Give 'auto'."
        )
        raise FlipCostError(msg)


def _prior_of(rate: Any) -> tuple[Array, Array] | None:
    """Return values and standard errors of rates that come with an interval, else None."""
    if not isinstance(rate, NoiseRate):
        return None
    width = np.subtract(rate.high, rate.low)
    if np.all(width <= 0):
        return None
    return np.asarray(rate.value), np.asarray(width / (2 * ndtri((1 + rate.level) / 2)))


def check_possible(pair: tuple[float, float], share: float, n_rows: float) -> None:
    """Refuse a rate that the share of positive labels contradicts beyond chance."""
    slack = _IMPOSSIBLE * np.sqrt(0.25 / n_rows)
    rho_pos, rho_neg = pair
    if not rho_neg - slack <= share <= 1 - rho_pos + slack:
        msg = (
            f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) is impossible for these labels: it implies "
            f"a share of positive labels between {rho_neg:g} and {1 - rho_pos:g}, but the share is "
            f"{share:.4g}. Give a smaller rate, or one for each class as (rho_pos, rho_neg)."
        )
        raise FlipCostError(msg)


# Rates with less than this share of the likeliest one's weight are not plausible states.
_PLAUSIBLE = 0.01
# Rates, and scores, that weigh less than this share of the heaviest change no digit that is shown.
_NEGLIGIBLE = 1e-3
# Rows that the value of knowing the rate is averaged over, at least: it is a figure to plan by.
_VALUE_ROWS = 1_000
# Rows in the smallest tail that bounds a rate; fewer bound nothing at any level that is used.
_SMALLEST_TAIL = 10


@dataclass(frozen=True, eq=False)
class _Rule:
    """Probabilities of rows out of fold, and what gives those of new rows.

    `weight` is the share of each score under each rate.
    """

    probability: Array
    weight: Array
    curves: ScoreCurves
    correction: tuple[ScoreCurves, Correction] | None = None

    @classmethod
    def of(cls, rows: ScoredRows, calibration: Calibration, rate: int | None = None) -> _Rule:
        """Take the mean over all rates, or one of them."""
        weight = calibration.weight
        if rate is not None:
            weight = np.where(np.arange(weight.shape[1]) == rate, weight, 0.0)
            weight = weight / weight.sum()
        # Rounding must not add up to more than one.
        probability = np.minimum(calibration.probability(rows.scores, rate), 1.0)
        return cls(probability, weight, _curves(rows.bins, calibration, weight))

    def corrected(self, rows: ScoredRows) -> _Rule:
        """Correct the scores by checked rows, where that explains other checked rows better."""
        found = _corrected(rows, self.probability, self.curves)
        if found is None:
            return self
        correction, probability, curves = found
        return _Rule(probability, self.weight, curves, (self.curves, correction))


def fit_scores(rows: ScoredRows, options: FitOptions) -> FitResult:
    """Calibrate out-of-fold scores, and choose."""
    calibration, source = calibrate_scores(rows, options)
    posterior = rate_posterior(rows.bins, calibration, options.model_in_doubt, options.prevalence)
    costs, regret, trusted = options.costs_of(rows), None, False
    if isinstance(options.noise_rate, str) and options.noise_rate == "minimax":
        answer, rate, regret = _least_regret(rows, calibration, posterior, options)
        rule = _Rule.of(rows, calibration, rate)
    else:
        answer, rule = None, _Rule.of(rows, calibration).corrected(rows)
    if rows.checked is not None and options.model_in_doubt == "auto":
        expected = given_label(rule.probability, rows.positive, posterior.mean)
        rates = rows.checked.rates(
            positive=rows.positive,
            expected=expected,
            score=rule.probability,
            sample_weight=rows.weight,
        )
        posterior = posterior.measured(rates)
    decision = _decide(rows, rule.probability, costs, posterior, options)
    chosen = answer or decision.chosen
    if _nothing_is_known(rows, options):
        plain = _Rule.of(rows, calibrate(rows.bins, [(0.0, 0.0)]))
        recorded = _by_recorded_labels(rows, plain.probability, costs, options, posterior)
        if posterior.has_no_signal:
            # Columns that say nothing of the labels say nothing of their errors.
            chosen = recorded
        elif not saves_enough(
            rows.positive,
            rule.probability,
            bayes_flags(rule.probability, costs, chosen),
            bayes_flags(plain.probability, costs, recorded),
            costs,
            posterior,
            rows.weight,
            rows.design,
        ):
            rule, chosen, trusted = plain, recorded, True
            decision = _decide(rows, rule.probability, costs, posterior, options)
    unit = options.unit_of(rows)
    return FitResult(
        options=options,
        n_rows=len(rows.positive),
        bins=rows.bins,
        source=source,
        posterior=posterior,
        chosen=chosen,
        costs={name: cost.times(unit) for name, cost in decision.costs.items()},
        regret=regret,
        probability=rule.probability,
        labels_trusted=trusted,
        scorer_weights=rule.weight.sum(axis=1),
        curves=rule.curves,
        correction=rule.correction,
        value_of_information=unit * _value_of_rate(rows, calibration, posterior, options.cost),
        bounds=_bounds(rows.bins[int(rule.weight.sum(axis=1).argmax())], options.level),
        wrong_share=posterior.wrong_share(rows.label_share, options.level, rows.n_effective),
        n_checked=0 if rows.checked is None else len(rows.checked.rows),
        n_clean=rows.n_clean,
        n_effective=rows.n_effective,
        noise_by_score=_by_score(rows, rule.probability, posterior, options.level),
        break_even=break_even_errors(
            rows.positive,
            {name: bayes_flags(rule.probability, costs, name) for name in decision.costs},
            {name: cost.value for name, cost in decision.costs.items()},
            chosen,
            costs,
            _wrong_by_label(posterior, rows.label_share),
            rows.weight,
        ),
    )


def _decide(
    rows: ScoredRows,
    probability: Array,
    costs: RowCosts,
    posterior: RatePosterior,
    options: FitOptions,
) -> Decision:
    return decide(
        rows.positive,
        probability,
        costs,
        posterior,
        rows.weight,
        flag_squares=rows.flag_squares,
        checked=rows.checked,
        flag_design=rows.flag_design,
        level=options.level,
    )


def _by_recorded_labels(
    rows: ScoredRows,
    probability: Array,
    costs: RowCosts,
    options: FitOptions,
    posterior: RatePosterior,
) -> Answer:
    """Return what to answer if all labels are right: the rule where it saves enough.

    Where the columns say nothing there is only the rule that prices by row make.
    """
    right = RatePosterior(np.zeros((1, 2)), np.ones(1), models=posterior.models)
    found = _decide(rows, probability, costs, right, options)
    if posterior.has_no_signal:
        return found.chosen
    paid = found.costs
    constant = min(CONSTANTS, key=lambda name: paid[name].value)
    rule, flat = (bayes_flags(probability, costs, name) for name in ("rule", constant))
    enough = saves_enough(
        rows.positive, probability, rule, flat, costs, right, rows.weight, rows.design
    )
    return "rule" if enough else constant


def _nothing_is_known(rows: ScoredRows, options: FitOptions) -> bool:
    """Whether only the labels tell of their errors."""
    known = rows.checked is not None or rows.n_clean > 0 or options.prevalence is not None
    return not known and options.given_rate == "integrate" and options.noise_model == "auto"


def _wrong_by_label(posterior: RatePosterior, share: float) -> tuple[float, float]:
    """Return the shares of rows labelled negative, and positive, that are labelled wrong."""
    rates, weight = posterior.estimated
    clean = clean_share(rates, share)
    missed = float(weight @ (clean * rates[:, 0]))
    false = float(weight @ ((1 - clean) * rates[:, 1]))
    return min(missed / max(1 - share, 1e-9), 1.0), min(false / max(share, 1e-9), 1.0)


def _least_regret(
    rows: ScoredRows, calibration: Calibration, posterior: RatePosterior, options: FitOptions
) -> tuple[Answer, int, Regret]:
    """Return the minimax-regret answer, the rate whose rule it is, and all regrets."""
    share = posterior.weight
    likely = np.flatnonzero(share > _PLAUSIBLE * share.max())
    states = RatePosterior(posterior.rates[likely], share[likely] / share[likely].sum())
    cost = options.costs_of(rows)

    def count(probability: Array, answer: Answer = "rule") -> LabelSums:
        return cost_sums(rows.positive, bayes_flags(probability, cost, answer), cost, rows.weight)

    rules = [count(eta) for eta in calibration.probabilities(rows.scores, likely)]
    constants = {name: count(rows.scores[0], name) for name in CONSTANTS}
    answer, rate, regret = decide_minimax(rules, constants, states)
    return answer, int(likely[rate]), regret.times(options.unit_of(rows))


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


def _corrected(
    rows: ScoredRows, probability: Array, curves: ScoreCurves
) -> tuple[Correction, Array, ScoreCurves] | None:
    """Return how checked rows correct scores, and probabilities and the curve that come of it."""
    checked = rows.checked
    if checked is None or rows.features is None or rows.folds is None:
        return None
    scores = np.stack([rows.scores[int(m)] for m in curves.which])
    correction = learn_correction(
        probability,
        scores,
        rows.features,
        rows.positive,
        checked.rows,
        checked.right,
        rows.folds[checked.rows],
        rows.weight,
        checked.design,
    )
    if correction is None:
        return None
    line = correction.score(scores, rows.features)
    location = float(np.average(line, weights=rows.weight))
    scale = float(np.sqrt(np.average((line - location) ** 2, weights=rows.weight))) or 1.0
    found = expit(line)
    found[checked.rows] = correction.held_out
    curve = expit(location + scale * TABLE)[None]
    one = ScoreCurves(np.array([len(rows.bins)]), np.array([location]), np.array([scale]), curve)
    return correction, found, one


def _bounds(bins: ScoreBins, level: float) -> NoiseRate:
    """Bound both rates by the purest tails of a score."""
    total, high = bins.positive + bins.negative, []
    of_negative, of_positive = bins.stands_for
    for odd, order, odds in (
        (bins.negative, slice(None, None, -1), of_negative / of_positive),
        (bins.positive, slice(None), of_positive / of_negative),
    ):
        tails = np.cumsum(np.column_stack([odd, total])[order], axis=0)
        # Sums of weights in another order differ in the last digits.
        tails = tails[tails[:, 1] >= min(_SMALLEST_TAIL, (1 - 1e-9) * total.sum())]
        drawn = min(1.0, purest_tail(tails, 1 - level).limit)
        high.append(odds * drawn / (1 - drawn + odds * drawn))
    value = tuple(limit / 2 for limit in high)
    return NoiseRate(value, (0.0, 0.0), tuple(high), "purest tails of the score", level)  # type: ignore[arg-type]


def _by_score(
    rows: ScoredRows, probability: Array, posterior: RatePosterior, level: float
) -> tuple[RateBand, ...]:
    """Return how rates change along the score, as far as checked rows tell."""
    if rows.checked is None:
        return ()
    expected = given_label(probability, rows.positive, posterior.mean)
    return rates_by_score_band(
        rows.checked, rows.positive, probability, expected, rows.weight, level
    )


def _value_of_rate(
    rows: ScoredRows, calibration: Calibration, posterior: RatePosterior, cost: float
) -> float:
    """Estimate what not knowing the rate costs a row, from a subset of the rows."""
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
