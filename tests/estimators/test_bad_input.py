"""Bad input gets one clear sentence: what must hold, what was got, what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from flipcost import UnevenMarginClassifier, UnevenMarginClassifierCV

N = 60
Y = np.arange(N) % 2
X = np.random.default_rng(0).normal(size=(N, 3)) + Y[:, None]


def spoilt(row, column, value):
    rows = X.copy()
    rows[row, column] = value
    return rows


# Arguments of fit, and the message in three parts: what must hold, what was got, what to do.
DATA = {
    "nan": (
        (spoilt(7, 2, np.nan), Y),
        r"finite: it contains NaN, first in row 7, column 2\. Impute",
    ),
    "infinity": (
        (spoilt(3, 1, np.inf), Y),
        r"finite: it contains infinity .* row 3, column 1\. Im",
    ),
    "minus infinity": ((spoilt(0, 0, -np.inf), Y), r"finite: it contains infinity .* row 0"),
    "sparse nan": ((sparse.csr_array(spoilt(7, 2, np.nan)), Y), r"finite: it contains NaN.*row 7"),
    "missing in a frame": ((pd.DataFrame(spoilt(7, 2, np.nan)), Y), r"finite.*row 7.*Impute"),
    "overflow": ((X * 1e200, Y), r"squares of `X` must not overflow; .*too large.*Rescale"),
    "one class": ((X, np.ones(N)), r"two classes to learn from; got one class only: 1\.0\. Check"),
    "three classes": ((X, np.arange(N) % 3), r"two classes; got 3: 0, 1, 2\. Merge them"),
    "many classes": ((X, np.arange(N)), r"two classes; got 60: 0, 1, 2, 3, 4, \.\.\.\. Merge"),
    "continuous": ((X, np.linspace(0, 1, N)), r"continuous"),
    "no labels": ((X, None), r"requires y to be passed, but the target y is None\. Give"),
    "labels missing": ((X, np.where(Y == 1, 1.0, np.nan)), r"y contains NaN"),
    "None among labels": (
        (X, np.array([None, "a"] * 30, dtype=object)),
        r"none missing; got.*Drop",
    ),
    "NA among labels": (
        (X, pd.Series(["a", None] * 30, dtype="string")),
        r"none missing; got.*Drop",
    ),
    "kinds of labels": ((X, np.array([1, "a"] * 30, dtype=object)), r"one kind.*got.*as strings"),
    "zero rows": ((X[:0], Y[:0]), r"at least one row; got .*shape=\(0, 3\).*Check the file"),
    "no features": (
        (X[:, :0], Y),
        r"at least one feature; got .*shape=\(60, 0\).*Check which columns",
    ),
    "empty table": (
        (pd.DataFrame(), []),
        r"at least one row; got .*shape=\(0, 0\).*Check the file",
    ),
    "one dimension": ((X[:, 0], Y), r"Expected 2D array, got 1D array instead(.|\n)*Reshape"),
    "mismatched lengths": ((X, Y[:5]), r"same number of rows; got 60 and 5\. Give"),
    "text": ((np.full((N, 2), "a"), Y), r"[Cc]onvert"),
    "weights short": ((X, Y, np.ones(3)), r"sample_weight.shape == \(3,\), expected \(60,\)"),
    "weights negative": ((X, Y, -np.ones(N)), r"Negative values in data passed to `sample_weight`"),
    "weights zero": ((X, Y, np.zeros(N)), r"at least one non-zero|positive weight"),
    "too many features": (
        (sparse.csr_array((np.ones(N), (np.arange(N), np.arange(N))), (N, 2_000_000)), Y),
        r"2000000 features need about .* GB.*may use.*fewer features \(here at most \d+\)",
    ),
}

PARAMETERS = {
    "cost 0": ({"cost": 0}, r"`cost` must lie in \(0, 1\); got 0\..*Costs\("),
    "cost 1": ({"cost": 1}, r"`cost` must lie in \(0, 1\); got 1\..*Costs\("),
    "cost 2": ({"cost": 2}, r"`cost` must lie in \(0, 1\); got 2\..*Costs\("),
    "cost nan": ({"cost": np.nan}, r"`cost` must lie in \(0, 1\); got nan\..*Costs\("),
    "cost text": ({"cost": "a"}, r"'costs?' parameter .* must be .*Got 'a' instead"),
    "margin 0": ({"margin": 0}, r"`margin` must be a positive number; got 0\. Use 1"),
    "margin negative": ({"margin": -2.0}, r"`margin` must be a positive number; got -2\. Use 1"),
    "margin text": ({"margin": "a"}, r"'margins?' parameter .* must be .*Got 'a' instead"),
    "l2 negative": ({"l2": -1}, r"`l2` must be zero or a positive number; got -1\. Use 0"),
    "l2 infinite": ({"l2": np.inf}, r"`l2` must be zero or a positive number; got inf\. Use 0"),
    "rate 0.5": ({"noise_rate": 0.5}, r"must lie in \[0, 0\.5\); got 0\.5\..*swap the labels"),
    "rate negative": ({"noise_rate": -0.1}, r"must lie in \[0, 0\.5\); got -0\.1\."),
    "rate text": ({"noise_rate": "a"}, r"'noise_rates?' parameter .* must be .*Got 'a' instead"),
    "pair": ({"noise_rate": (0.6, 0.4)}, r"a sum below 1; got \(0\.6, 0\.4\)\..*swap the labels"),
    "rate impossible": ({"noise_rate": (0.1, 0.6)}, r"impossible.*(smaller rate|smaller ones)"),
    "unknown label": ({"pos_label": "q"}, r"`pos_label` must be one of .*\[0, 1\]; got 'q'\. Give"),
    "scale": ({"l2_scale": "median"}, r"'l2_scale' parameter .* must be .*Got 'median' instead"),
}


def cross_validated(parameters):
    """Return the same parameters as candidates of a grid."""
    grid = {
        f"{name}s" if name in ("cost", "margin", "l2", "noise_rate") else name: value
        for name, value in parameters.items()
    }
    if isinstance(grid.get("noise_rates"), tuple):
        grid["noise_rates"] = [grid["noise_rates"]]
    return grid


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("make", [UnevenMarginClassifier, UnevenMarginClassifierCV])
def test_bad_data_are_refused(make, name):
    """Rows, labels and weights that cannot be learned from are refused."""
    arguments, message = DATA[name]
    with pytest.raises(ValueError, match=message):
        make().fit(*arguments)


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("make", [UnevenMarginClassifier, UnevenMarginClassifierCV])
def test_bad_parameters_are_refused(make, name):
    """Parameters out of range are refused when fitting, not when constructing."""
    parameters, message = PARAMETERS[name]
    if make is UnevenMarginClassifierCV:
        parameters = cross_validated(parameters)
    model = make(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


@pytest.mark.parametrize("make", [UnevenMarginClassifier, UnevenMarginClassifierCV])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_bad_predictions_are_refused(make, method):
    """Predicting before fitting, with other features, or of missing values is refused."""
    with pytest.raises(NotFittedError, match=r"is not fitted yet\. Call 'fit'"):
        getattr(make(), method)(X)
    model = make().fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        getattr(model, method)(X[:, :2])
    with pytest.raises(ValueError, match=r"Input X contains NaN"):
        getattr(model, method)(spoilt(0, 0, np.nan))


def test_a_refused_fit_can_be_mended():
    """After an error the same object can be fitted, in parts too."""
    model = UnevenMarginClassifier()
    with pytest.raises(ValueError, match="finite"):
        model.partial_fit(spoilt(0, 0, np.nan), Y)
    model.partial_fit(X[:, :2], Y)
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="finite"):
        model.partial_fit(spoilt(0, 0, np.nan)[:, :2], Y)
    assert model.moments_.n_rows.sum() == N
