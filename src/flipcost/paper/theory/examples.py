"""The paper's Examples 1, 2, 3 and B.4: what it prints, what its route gives, what is true.

Every figure has three values: ``printed`` (data, copied from the paper), ``as_printed`` (computed
by the route that the paper took, mistakes included) and ``corrected`` (computed from the law as
the paper states it). The conclusion of all four, that minimising a weighted loss on noisy labels
can cost more, survives the corrections.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit, ndtr

from flipcost.datasets.gaussian import gaussian_log_odds
from flipcost.paper.theory.laws import (
    DiscreteLaw,
    uneven_squared_rules,
    uneven_squared_scores,
    weighted_zero_one_rules,
)


@dataclass(frozen=True)
class Figure:
    """One figure of an example.

    Attributes
    ----------
    name : str
        What it is.
    printed : float or None
        What the paper prints; None where it prints nothing.
    as_printed : float
        Computed by the paper's route.
    corrected : float
        Computed from the law that the paper states.
    """

    name: str
    printed: float | None
    as_printed: float
    corrected: float


@dataclass(frozen=True)
class Example:
    """An example of the paper, printed and corrected.

    Attributes
    ----------
    name : str
        Its number in the paper.
    remark : str
        What was wrong.
    figures : tuple of Figure
        Its figures; ``example["clean cost"]`` finds one by name.
    """

    name: str
    remark: str
    figures: tuple[Figure, ...]

    def __getitem__(self, name: str) -> Figure:
        """Return the figure of that name."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        msg = f"{self.name} has no figure {name!r}; it has {[f.name for f in self.figures]}."
        raise KeyError(msg)

    @property
    def conclusion_holds(self) -> bool:
        """Whether, corrected, the noisy rule costs more than the clean one."""
        return self["noisy cost"].corrected > self["clean cost"].corrected

    def __str__(self) -> str:
        lines = [f"{self.name}. {self.remark}"]
        lines.append(f"{'':<32}{'printed':>10}{'as printed':>12}{'corrected':>12}")
        for figure in self.figures:
            printed = "" if figure.printed is None else f"{figure.printed:g}"
            values = f"{figure.as_printed:>12.6g}{figure.corrected:>12.6g}"
            lines.append(f"{figure.name:<32}{printed:>10}{values}")
        return "\n".join(lines)


# Examples 1 and 3 share their law, cost and noise rate.
_P, _COST, _RATE = 0.2, 0.25, 0.3


def _law_taken() -> DiscreteLaw:
    """Return the law of Examples 1 and 3 as the paper uses it: eta = p wherever x is."""
    return DiscreteLaw([0.5], [1.0], [_P])


def _law_stated() -> DiscreteLaw:
    """Return it as the paper states it: x uniform on (0, p) if positive, on (1 - p, 1) if not.

    Each support is represented by its middle: the densities are constant on it.
    """
    middles = np.array([_P / 2, 1 - _P / 2])
    density_pos = ((middles > 0) & (middles < _P)) / _P
    density_neg = ((middles > 1 - _P) & (middles < 1)) / _P
    joint_pos, joint_neg = _P * density_pos, (1 - _P) * density_neg
    density = joint_pos + joint_neg
    # Both supports have length p.
    return DiscreteLaw(middles, density * _P, joint_pos / density)


def example_1() -> Example:
    """Recompute Example 1: the weighted 0-1 loss over all functions.

    The two classes have disjoint supports, on which the density of the *other* class is zero; the
    paper divides as if both densities were positive everywhere. Its figures are those of a law in
    which the features say nothing about the label.

    Examples
    --------
    >>> print(example_1())
    Example 1. The supports are disjoint, so eta is 1 or 0 and never p.
                                       printed  as printed   corrected
    eta where x is in (0, p)               0.2         0.2           1
    eta where x is in (1 - p, 1)           0.2         0.2           0
    noisy eta in (0, p)                   0.38        0.38         0.7
    noisy eta in (1 - p, 1)               0.38        0.38         0.3
    clean cost                            0.15        0.15           0
    noisy cost                             0.2         0.2         0.2
    """
    rules = weighted_zero_one_rules(_COST, _RATE)
    taken, stated = _law_taken(), _law_stated()
    eta, eta_noisy = stated.eta, stated.noisy(_RATE).eta
    taken_eta, taken_noisy = float(taken.eta[0]), float(taken.noisy(_RATE).eta[0])
    (clean_taken, noisy_taken), (clean, noisy) = rules.costs(taken), rules.costs(stated)
    return Example(
        "Example 1",
        "The supports are disjoint, so eta is 1 or 0 and never p.",
        (
            Figure("eta where x is in (0, p)", 0.2, taken_eta, float(eta[0])),
            Figure("eta where x is in (1 - p, 1)", 0.2, taken_eta, float(eta[1])),
            Figure("noisy eta in (0, p)", 0.38, taken_noisy, float(eta_noisy[0])),
            Figure("noisy eta in (1 - p, 1)", 0.38, taken_noisy, float(eta_noisy[1])),
            Figure("clean cost", 0.15, clean_taken, clean),
            Figure("noisy cost", 0.2, noisy_taken, noisy),
        ),
    )


def example_2() -> Example:
    """Recompute Example 2: the weighted 0-1 loss over the rules ``x + b > 0`` on three points.

    Examples
    --------
    >>> print(example_2())
    Example 2. The interval is (-12, -8]; noisy costs lack the factor 1/3 and two intervals.
                                       printed  as printed   corrected
    clean best b, above                     -8          -8         -12
    clean best b, up to                    -12         -12          -8
    noisy risk, b > -3                   0.474       0.474       0.158
    noisy risk, -8 < b <= -3                         0.594       0.198
    noisy risk, -12 < b <= -8                        0.714       0.238
    noisy risk, b <= -12                 0.994       0.994    0.331333
    clean cost                               0           0           0
    noisy cost                             0.2         0.2         0.2
    """
    cost, rate = 0.3, 0.42
    law = DiscreteLaw([3, 8, 12], np.full(3, 1 / 3), [0, 0, 1])
    x = law.points[:, 0]
    # b is in (-x_j, -x_{j-1}] when exactly the points from x_j on are flagged.
    rules = [x >= start for start in (*x, np.inf)]
    clean = np.array([law.expected_cost(rule, cost) for rule in rules])
    noisy = np.array([law.noisy(rate).expected_cost(rule, cost) for rule in rules])
    best, best_noisy = int(clean.argmin()), int(noisy.argmin())
    low, high = -x[best], -x[best - 1]
    names = ("b > -3", "-8 < b <= -3", "-12 < b <= -8", "b <= -12")
    printed = (0.474, None, None, 0.994)
    risks = tuple(
        Figure(f"noisy risk, {name}", value, float(len(x) * risk), float(risk))
        for name, value, risk in zip(names, printed, noisy, strict=True)
    )
    paid, lost = float(clean[best]), float(clean[best_noisy])
    return Example(
        "Example 2",
        "The interval is (-12, -8]; noisy costs lack the factor 1/3 and two intervals.",
        (
            Figure("clean best b, above", -8.0, float(high), float(low)),
            Figure("clean best b, up to", -12.0, float(low), float(high)),
            *risks,
            Figure("clean cost", 0.0, paid, paid),
            Figure("noisy cost", 0.2, lost, lost),
        ),
    )


def example_3() -> Example:
    """Recompute Example 3: the uneven squared loss over all functions, on the law of Example 1.

    Taken with a constant eta, as printed, the best function is a constant. A constant is a linear
    function, so this example is also a counter-example to Theorem 1 two pages later.

    Examples
    --------
    >>> print(example_3())
    Example 3. Printed scores are truncated, not rounded, and eta is that of Example 1.
                                       printed  as printed   corrected
    clean score in (0, p)                -0.21   -0.217391           1
    clean score in (1 - p, 1)            -0.21   -0.217391        -2.5
    noisy score in (0, p)                 0.37     0.37464    0.810811
    noisy score in (1 - p, 1)             0.37     0.37464    0.169492
    clean cost                            0.15        0.15           0
    noisy cost                             0.2         0.2         0.2
    """
    margin = 0.4
    rules = uneven_squared_rules(_COST, margin, _RATE)
    taken, stated = _law_taken(), _law_stated()
    figures = []
    for name, printed, rate in (("clean", -0.21, None), ("noisy", 0.37, _RATE)):
        route = uneven_squared_scores(taken.eta, _COST, margin, rate)
        right = uneven_squared_scores(stated.eta, _COST, margin, rate)
        for where, score in zip(("(0, p)", "(1 - p, 1)"), right, strict=True):
            figure = Figure(f"{name} score in {where}", printed, float(route[0]), float(score))
            figures.append(figure)
    (clean_taken, noisy_taken), (clean, noisy) = rules.costs(taken), rules.costs(stated)
    figures.append(Figure("clean cost", 0.15, clean_taken, clean))
    figures.append(Figure("noisy cost", 0.2, noisy_taken, noisy))
    remark = "Printed scores are truncated, not rounded, and eta is that of Example 1."
    return Example("Example 3", remark, tuple(figures))


def example_b4() -> Example:
    """Recompute Example B.4: the weighted 0-1 loss on two Gaussian classes.

    Examples
    --------
    >>> print(example_b4())
    Example B.4. The cuts are solved with the prior odds 4 where eta has 1/4.
                                       printed  as printed   corrected
    clean threshold on eta                0.65        0.65        0.65
    induced threshold on eta             0.875       0.875       0.875
    clean cut on x                    0.195629     0.19563   -0.420501
    noisy cut on x                    0.490489     0.49049   -0.125641
    clean cost                          0.0103   0.0104209  0.00461203
    noisy cost                          0.0185   0.0185446  0.00583731
    """
    prior, mean_pos, mean_neg = 0.8, 2.0, -2.5
    rules = weighted_zero_one_rules(0.65, 0.3)
    at_0, at_1 = gaussian_log_odds([[0.0], [1.0]], mean_pos, mean_neg, 1.0, 1.0, prior)
    # Equal variances make the log-odds a line: two values give it.
    slope = at_1 - at_0
    # The slip: the prior odds enter the wrong way up, which moves the log-odds by twice their log.
    routes = {"corrected": at_0, "as_printed": at_0 - 2 * logit(prior)}

    def cost_at(cut: float) -> float:
        """Return the expected cost of calling positive above a cut."""
        false_alarms = (1 - prior) * ndtr(mean_neg - cut)
        misses = prior * ndtr(cut - mean_pos)
        return float(rules.cost * false_alarms + (1 - rules.cost) * misses)

    cuts, costs = [], []
    for name, threshold, cut_printed, cost_printed in (
        ("clean", rules.threshold, 0.195629, 0.0103),
        ("noisy", rules.induced_threshold, 0.490489, 0.0185),
    ):
        cut = {route: float((logit(threshold) - start) / slope) for route, start in routes.items()}
        cuts.append(Figure(f"{name} cut on x", cut_printed, **cut))
        paid = {route: cost_at(x) for route, x in cut.items()}
        costs.append(Figure(f"{name} cost", cost_printed, **paid))
    induced = rules.induced_threshold
    return Example(
        "Example B.4",
        "The cuts are solved with the prior odds 4 where eta has 1/4.",
        (
            Figure("clean threshold on eta", 0.65, rules.threshold, rules.threshold),
            Figure("induced threshold on eta", 0.875, induced, induced),
            *cuts,
            *costs,
        ),
    )
