"""Flipping labels on purpose, to see what noise does."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from flipcost._validation import positive_index
from flipcost.core.noise import NoiseRateLike, flip

_STREAM = 0x666C6970  # "flip"


def flip_labels(
    y: ArrayLike, noise_rate: NoiseRateLike, random_state: Any = None, *, pos_label: Any = None
) -> NDArray[Any]:
    """Flip each label to the other class, independently, with the probability of its class.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: two values.
    noise_rate : float or pair of floats
        One probability in [0, 0.5) for all labels, or ``(rho_pos, rho_neg)`` for positive and
        negative ones.
    random_state : int, Generator or None, default=None
        Seed; an int gives the same flips each time. Its stream is the flips' own, so that the
        seed that made the data does not tie the flips to the labels.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    ndarray of shape (n,)
        Labels of the same kind, some of them flipped.

    Examples
    --------
    >>> flip_labels(["yes", "no", "yes", "yes", "no", "no"], 0.4, random_state=0)
    array(['yes', 'yes', 'no', 'yes', 'yes', 'no'], dtype='<U3')
    """
    labels = column_or_1d(y)
    classes = np.unique(labels)
    if len(classes) != 2:
        msg = (
            f"`y` must hold two labels; got {len(classes)}: {classes[:5].tolist()}. "
            "Keep or merge rows until two are left."
        )
        raise ValueError(msg)
    index = positive_index(classes, pos_label)
    flipped = flip(labels == classes[index], noise_rate, _generator(random_state))
    return classes[np.where(flipped, index, 1 - index)]


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, Integral):
        return np.random.default_rng([_STREAM, int(random_state)])
    return np.random.default_rng(random_state)
