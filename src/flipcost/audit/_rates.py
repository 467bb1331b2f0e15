"""What is known of the noise rate before anything is learned."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.noise import rate_pair
from flipcost.exceptions import TableError, shorten
from flipcost.noise import rate_of_differences, rate_of_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flipcost.audit._maker import TableFacts
    from flipcost.audit._options import AuditOptions
    from flipcost.core.rates import NoiseRate
    from flipcost.data import Roles


def known_rate(
    options: AuditOptions, facts: TableFacts, labels: tuple[str, str]
) -> tuple[Any, list[str]]:
    """Return the rate that is given, or that trusted or second labels tell, and what to warn of.

    None when nothing is known.
    """
    if options.noise_rate is not None:
        share = facts.weight[labels[1]] / sum(facts.weight.values())
        n_rows = sum(facts.rows.values())
        return _checked_rate(options.noise_rate, share, n_rows, labels[1]), []
    if options.trusted is None and options.second_label is None:
        return None, []
    return rate_from_pairs(facts.pairs, options.roles, labels, options.level, options.noise_model)


def rate_from_pairs(
    pairs: Mapping[tuple[str, str], int],
    roles: Roles,
    labels: tuple[str, str],
    level: float,
    noise_model: str = "symmetric",
) -> tuple[NoiseRate, list[str]]:
    """Return the noise rate that counts of (label, other label) tell, and what to warn of.

    Parameters
    ----------
    pairs : mapping of (str, str) to int
        Rows with each pair of labels, of the target and of the trusted or second column.
    roles : Roles
        Which of these it is.
    labels : pair of str
        The labels of the target.
    level : float
        Level of the interval.
    noise_model : str, default="symmetric"
        What was asked for; columns of labels give one rate for both classes in any case.

    Returns
    -------
    NoiseRate
    list of str

    Examples
    --------
    >>> from flipcost.data import Roles
    >>> pairs = {("yes", "yes"): 40, ("yes", "no"): 10, ("no", "no"): 50}
    >>> rate, _ = rate_from_pairs(pairs, Roles("ill", trusted="checked"), ("no", "yes"), 0.95)
    >>> print(rate)
    0.100, 95% interval 0.049 to 0.176 (disagreement with 100 trusted labels)
    """
    name = roles.trusted or roles.second_label
    if not pairs:
        msg = f"Column {name!r} is empty; fill in some rows, or leave it out."
        raise TableError(msg)
    strange = sorted({other for _, other in pairs} - set(labels))
    if strange:
        msg = (
            f"Column {name!r} must hold the labels of {roles.target!r}, "
            f"{shorten(sorted(labels))}; it also holds {shorten(strange)}."
        )
        raise TableError(msg)
    notes = []
    if noise_model != "symmetric":
        notes.append(
            f"Column {name!r} gives one noise rate for both classes; `noise_model={noise_model!r}` "
            "played no part."
        )
    rows = sum(pairs.values())
    differ = sum(n for (label, other), n in pairs.items() if label != other)
    if roles.trusted is not None:
        return rate_of_errors([differ], [rows], level), notes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rate = rate_of_differences(differ, rows, level)
    return rate, notes + [" ".join(str(w.message).split()) for w in caught]


def _checked_rate(noise_rate: Any, share: float, n_rows: int, positive_label: str) -> Any:
    """Return a rate that was given, once the share of positive labels allows for it.

    Under flips at these rates that share lies between ``rho_neg`` and ``1 - rho_pos``; four
    standard errors are left for chance.
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    slack = 4 * np.sqrt(0.25 / n_rows)
    if not rho_neg - slack <= share <= 1 - rho_pos + slack:
        msg = (
            f"The noise rate {noise_rate} is impossible for these labels: it implies a share "
            f"of {positive_label!r} between {rho_neg:g} and {1 - rho_pos:g}, which is "
            f"{share:.3g}. Give a smaller rate, or one for each class."
        )
        raise TableError(msg)
    return noise_rate
