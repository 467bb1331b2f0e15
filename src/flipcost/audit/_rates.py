"""What is known of the noise rate before anything is learned."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.audit._trusted import check_others, check_trusted
from flipcost.core.feasible import agreement
from flipcost.core.noise import rate_pair
from flipcost.exceptions import TableError, shorten
from flipcost.noise import rate_of_patterns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from flipcost.audit._maker import TableFacts
    from flipcost.audit._options import AuditOptions
    from flipcost.core.rates import NoiseRate

# Standard errors from chance: below the one second labels tell nothing, below the other, negative,
# they say the opposite.
_RELATED, _BEYOND_CHANCE = 2.0, 3.0


def known_rate(
    options: AuditOptions, facts: TableFacts, labels: tuple[str, str]
) -> tuple[Any, list[str]]:
    """Return the rate that is given, or that second labels tell, and what to warn of.

    None when nothing is known, or rows were checked: these are learned from themselves.
    """
    if options.noise_rate is not None:
        share = facts.weight[labels[1]] / sum(facts.weight.values())
        n_rows = sum(facts.rows.values())
        return _checked_rate(options.noise_rate, share, n_rows, labels[1]), []
    if options.has_checked:
        return None, check_trusted(facts.pairs, options, labels, sum(facts.rows.values()))
    if options.roles.second_label:
        return rate_from_pairs(facts.pairs, options, labels)
    return None, []


def rate_from_pairs(
    pairs: Mapping[tuple[str, ...], int], options: AuditOptions, labels: tuple[str, str]
) -> tuple[NoiseRate | None, list[str]]:
    """Return the noise rate that counts of labels and second labels tell, and what to warn of.

    None when the columns agree no more than chance does: it is not identified then.

    Parameters
    ----------
    pairs : mapping of tuple of str to int
        Rows with each pattern of labels, that of the target first; "" where one is missing.
    options : AuditOptions
        What was asked.
    labels : pair of str
        The labels of the target.

    Returns
    -------
    NoiseRate or None
    list of str

    Examples
    --------
    >>> from flipcost.audit import AuditOptions
    >>> options = AuditOptions(target="ill", cost=0.2, second_label="again")
    >>> pairs = {("yes", "yes"): 40, ("yes", "no"): 18, ("no", "no"): 42}
    >>> rate, _ = rate_from_pairs(pairs, options, ("no", "yes"))
    >>> print(rate)
    0.100, 95% interval 0.059 to 0.160 (disagreement of two labels on 100 rows)
    """
    names = options.roles.second_label
    check_others(pairs, names, options.target, labels)
    notes = []
    if len(names) == 1 and options.noise_model not in ("auto", "symmetric"):
        notes.append(
            f"Column {names[0]!r} gives one noise rate for both classes; "
            f"`noise_model={options.noise_model!r}` played no part."
        )
    seen = np.array(list(pairs))
    counts = np.array(list(pairs.values()), dtype=float)
    untold = _unrelated(seen, counts, names, options.target, labels)
    if untold is not None:
        return None, [*notes, untold]
    patterns = np.select([seen == labels[1], seen == labels[0]], [1, 0], -1)
    two = len(names) > 1 and options.noise_model != "symmetric"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rate = rate_of_patterns(patterns, counts, class_conditional=two, level=options.level)
    return rate, notes + [" ".join(str(w.message).split()) for w in caught]


def _unrelated(
    seen: NDArray[np.str_],
    counts: NDArray[np.float64],
    names: Sequence[str],
    target: str,
    labels: tuple[str, str],
) -> str | None:
    """Return what to say of second labels that tell nothing; refuse those that say the opposite."""
    found = []
    for k, name in enumerate(names, start=1):
        cells = [
            [counts[(seen[:, 0] == label) & (seen[:, k] == other)].sum() for other in labels]
            for label in labels
        ]
        found.append(agreement(cells))
        if found[-1] < -_BEYOND_CHANCE:
            msg = (
                f"Columns {target!r} and {name!r} contradict each other: a row labelled "
                f"{labels[1]!r} in the one is less likely so in the other. Are the two labels of "
                f"{name!r} swapped, or do they belong to other rows?"
            )
            raise TableError(msg)
    if max(found) > _RELATED:
        return None
    return (
        f"The labels of {shorten(names)} and {target!r} agree no more than chance does, so the "
        f"noise rate is not identified by them: they played no part."
    )


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
