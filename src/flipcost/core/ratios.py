r"""Class probabilities from the density ratios of the two classes.

With :math:`\pi` the share of the positive class, :math:`w_+ = p(x \mid +1) / p(x)` and
:math:`w_- = p(x \mid -1) / p(x)`, two estimates of :math:`\eta = P(y = +1 \mid x)` are at hand,

.. math::

    \eta_{\mathrm{pos}} = \pi w_+, \qquad \eta_{\mathrm{neg}} = 1 - (1 - \pi) w_-,

which agree when the ratios are exact. Neither need lie in [0, 1] when they are estimated. Their
scaled forms divide by the greatest value on the training rows,
:math:`\eta_{\mathrm{pos},s} = \eta_{\mathrm{pos}} / \max \eta_{\mathrm{pos}}` and likewise for
:math:`\eta_{\mathrm{neg},s}`.

==========  =====================================================  ==============================
name        corrected                                              as printed, where it differs
==========  =====================================================  ==============================
pos         :math:`\pi w_+`
neg         :math:`1 - (1 - \pi) w_-`
norm        pos / (pos + 1 - neg)                                  pos / (pos + neg)
pos_s       pos / max pos
neg_s       neg / max neg
norm_s      pos_s / (pos_s + 1 - neg_s)                            pos_s / (pos_s + neg_s)
cnorm_s     neg_s / (neg_s + 1 - pos_s)                            neg_s / (neg_s + pos_s)
avg_s       (pos_s + neg_s) / 2
==========  =====================================================  ==============================

The printed normalised forms cannot be meant: with exact ratios pos and neg are both
:math:`\eta`, and pos / (pos + neg) is one half everywhere. Normalising pos by the probability of
the *other* class, 1 - neg, repairs it: then norm is
:math:`\pi w_+ / (\pi w_+ + (1 - \pi) w_-)`. Nor do the estimates "integrate to one"; what the
constraint of the ratio estimate gives is that pos has mean :math:`\pi` over the denominator rows.

References
----------
Tripathi and Hemachandra, "Cost Sensitive Learning in the Presence of Symmetric Label Noise", PAKDD
2019, section F.6 of the supplement.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array

COMBINATIONS = ("norm", "pos", "neg", "pos_s", "neg_s", "norm_s", "cnorm_s", "avg_s")


def _pos_neg(w_pos: ArrayLike, w_neg: ArrayLike, prior: float) -> tuple[Array, Array]:
    if not 0 < prior < 1:
        msg = f"`prior` must lie in (0, 1), the share of the positive class; got {prior:g}."
        raise ValueError(msg)
    above, below = np.asarray(w_pos, dtype=float), np.asarray(w_neg, dtype=float)
    if above.shape != below.shape:
        msg = f"`w_pos` and `w_neg` must have the same shape; got {above.shape}, {below.shape}."
        raise ValueError(msg)
    return prior * above, (1 - prior) * below


def training_scales(w_pos: ArrayLike, w_neg: ArrayLike, prior: float) -> tuple[float, float]:
    """Return the greatest "pos" and "neg" estimates on the training rows.

    Parameters
    ----------
    w_pos, w_neg : array-like of shape (n_rows,)
        Estimated ratios of the two classes at the training rows.
    prior : float
        Share of the positive class.

    Returns
    -------
    tuple of float
        ``(scale_pos, scale_neg)``, for :func:`combine_ratios`.

    Examples
    --------
    >>> training_scales([0.0, 2.2], [1.5, 0.1], prior=0.5)
    (1.1, 0.95)
    """
    pos, other = _pos_neg(w_pos, w_neg, prior)
    return float(pos.max()), float(1 - other.min())


def combine_ratios(
    w_pos: ArrayLike,
    w_neg: ArrayLike,
    prior: float,
    combine: str = "norm",
    *,
    scales: tuple[float, float] | None = None,
    form: Literal["corrected", "printed"] = "corrected",
    clip: bool = True,
) -> Array:
    """Return the probability of the positive class from the two classes' density ratios.

    Parameters
    ----------
    w_pos, w_neg : array-like of shape (n_rows,)
        Estimated ratios, class density over density of all rows.
    prior : float
        Share of the positive class; also the answer where a normalised form is 0 / 0.
    combine : {"norm", "pos", "neg", "pos_s", "neg_s", "norm_s", "cnorm_s", "avg_s"}, \
default="norm"
        Combination, see the table of the module.
    scales : tuple of float, optional
        ``training_scales(...)`` of the training rows, which the combinations ending in ``_s`` need.
    form : {"corrected", "printed"}, default="corrected"
        The printed form is for the record.
    clip : bool, default=True
        Clip every estimate to [0, 1], and the parts of a normalised scaled form before they are
        combined; then norm_s, cnorm_s and avg_s say the same about which class is likelier. Without
        clipping, values are as the formula gives them, and only 0 / 0 is replaced by the prior.

    Returns
    -------
    ndarray of shape (n_rows,)
        Probabilities.

    Examples
    --------
    Exact ratios give back the probability; the printed form does not:

    >>> eta, prior = np.array([0.1, 0.5, 0.9]), 0.4
    >>> w_pos, w_neg = eta / prior, (1 - eta) / (1 - prior)
    >>> combine_ratios(w_pos, w_neg, prior)
    array([0.1, 0.5, 0.9])
    >>> combine_ratios(w_pos, w_neg, prior, form="printed")
    array([0.5, 0.5, 0.5])
    """
    if combine not in COMBINATIONS or form not in ("corrected", "printed"):
        msg = (
            f"`combine` must be one of {', '.join(COMBINATIONS)} and `form` corrected or printed; "
            f"got {combine!r} and {form!r}."
        )
        raise ValueError(msg)
    pos, other = _pos_neg(w_pos, w_neg, prior)
    if combine == "norm" and form == "corrected":
        # From the ratios themselves: 1 - neg would cancel where the negative class is rare.
        return _normalised(pos, other, prior)
    neg = 1 - other
    if combine.endswith("_s"):
        scale_pos, scale_neg = _checked_scales(scales, combine)
        pos, neg = pos / scale_pos, neg / scale_neg
    if clip and form == "corrected":
        pos, neg = np.clip(pos, 0.0, 1.0), np.clip(neg, 0.0, 1.0)
    eta = _combined(pos, neg, prior, combine.removesuffix("_s"), form)
    return np.clip(eta, 0.0, 1.0) if clip else eta


def _combined(pos: Array, neg: Array, prior: float, rule: str, form: str) -> Array:
    printed = form == "printed"
    if rule == "norm":
        return _normalised(pos, neg if printed else 1 - neg, prior)
    if rule == "cnorm":
        return _normalised(neg, pos if printed else 1 - pos, prior)
    return {"pos": pos, "neg": neg, "avg": (pos + neg) / 2}[rule]


def _normalised(part: Array, rest: Array, prior: float) -> Array:
    whole = part + rest
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, prior), where=whole != 0))


def _checked_scales(scales: tuple[float, float] | None, combine: str) -> tuple[float, float]:
    if scales is None or not (scales[0] > 0 and scales[1] > 0):
        msg = (
            f"`scales` must be two positive numbers for combine={combine!r}; got {scales}. "
            "Take them from `training_scales` on the training rows."
        )
        raise ValueError(msg)
    return scales
