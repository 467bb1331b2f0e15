r"""What somebody knows of the share of positives, from elsewhere than the labels.

Labels that miss most positives look like few positives, and nothing in a table says otherwise.
Often somebody knows: how many transactions are fraud by last year's books, how many patients fall
ill. With a share :math:`\tilde\pi` of positive labels, each pair of noise rates implies the share
:math:`\pi = (\tilde\pi - \rho_-) / (1 - \rho_+ - \rho_-)`, so what is known of it is evidence on
the rates: a normal distribution of its log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit, ndtri

from flipcost.core.arrays import Array

# A number is meant within this factor of its odds.
_ABOUT = 1.2
# Shares of none or all are possible under some rates, but have no log-odds.
_LEAST = 1e-6


@dataclass(frozen=True)
class ShareBelief:
    """A range that holds the clean share of positives with probability 0.95.

    Attributes
    ----------
    low, high : float
        Its ends, above 0 and below 1.

    Examples
    --------
    >>> belief = ShareBelief.of((0.1, 0.2))
    >>> print(belief.log_density(np.array([0.01, 0.14, 0.5])).argmax())
    1
    """

    low: float
    high: float

    @classmethod
    def of(cls, said: Any) -> ShareBelief:
        """Read a share, or a range of shares.

        Parameters
        ----------
        said : float or pair of floats
            A number is meant within a factor of 1.2 of its odds.

        Examples
        --------
        >>> about = ShareBelief.of(0.5)
        >>> print(round(about.low, 3), round(about.high, 3))
        0.455 0.545
        >>> ShareBelief.of((0.2, 0.1))
        Traceback (most recent call last):
            ...
        ValueError: `positive_share` must be a share of rows above 0 and below 1, or a range of \
such, the smaller first; got (0.2, 0.1).
        """
        ends = np.ravel(said).tolist()
        known = all(isinstance(end, (int, float)) and 0 < end < 1 for end in ends)
        if not (known and len(ends) in (1, 2) and ends == sorted(set(ends))):
            msg = (
                "`positive_share` must be a share of rows above 0 and below 1, or a range of such, "
                f"the smaller first; got {said!r}."
            )
            raise ValueError(msg)
        if len(ends) == 2:
            return cls(ends[0], ends[1])
        odds = ends[0] / (1 - ends[0])
        return cls(odds / (odds + _ABOUT), odds / (odds + 1 / _ABOUT))

    def log_density(self, share: Array) -> Array:
        """Return the log density of shares, that of their log-odds.

        Parameters
        ----------
        share : ndarray
            Shares that rates imply.
        """
        ends = logit(np.array([self.low, self.high]))
        error = (ends[1] - ends[0]) / (2 * ndtri(0.975))
        off = (logit(np.clip(share, _LEAST, 1 - _LEAST)) - ends.mean()) / error
        return np.asarray(-0.5 * off**2 - np.log(error * np.sqrt(2 * np.pi)))
