"""What hypothesis draws from: rows, labels, weights, splits and noise rates."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

# Multiples of 1/8 up to 1000: large enough to matter, and free of subnormal numbers.
_values = st.integers(-8000, 8000).map(lambda k: k / 8)


@st.composite
def labelled_rows(draw, min_rows=0, max_rows=24, max_features=4):
    """Rows and boolean labels; a class, or both, may be missing."""
    n = draw(st.integers(min_rows, max_rows))
    d = draw(st.integers(1, max_features))
    X = draw(arrays(float, (n, d), elements=_values, fill=st.nothing()))
    return X, draw(arrays(bool, n, fill=st.nothing()))


@st.composite
def weighted_rows(draw, **sizes):
    """Rows, labels and whole weights, zero among them."""
    X, positive = draw(labelled_rows(**sizes))
    return X, positive, draw(arrays(np.int64, len(X), elements=st.integers(0, 4)))


@st.composite
def cuts(draw, n, max_parts=5):
    """Places at which n rows are cut into parts, some of them empty."""
    inner = draw(st.lists(st.integers(0, n), max_size=max_parts - 1))
    return [0, *sorted(inner), n]


symmetric_rates = st.integers(0, 98).map(lambda k: k / 200)  # up to 0.49


@st.composite
def rate_pairs(draw):
    """Draw a pair of rates, either of them up to 0.98, with a sum of at most 0.98."""
    total = draw(st.integers(0, 98)) / 100
    share = draw(st.integers(0, 10)) / 10
    return (total * share, total * (1 - share))


noise_rates = st.one_of(st.none(), symmetric_rates, rate_pairs())
costs = st.integers(1, 19).map(lambda k: k / 20)
margins = st.sampled_from([0.05, 0.3, 0.7, 1.0, 1.9, 6.0])
penalties = st.sampled_from([1e-4, 0.01, 0.3, 2.0])
seeds = st.integers(0, 2**16)
