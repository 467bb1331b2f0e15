"""The types that models consist of: what a file may ask for, and nothing else.

None of these does anything when it is made but keep what it is given. Estimators of scikit-learn
whose compiled parts trust their arrays blindly (support vectors, search trees) are not among them,
except decision trees, whose nodes `_checks` goes through. Others are made when a caller names them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

OURS = frozenset(
    f"flipcost.{name}"
    for name in (
        "core.noise_by_score.RateBand",
        "core.calibration.ScoreBins",
        "core.confusion.ConfusionCounts",
        "core.confusion.Interval",
        "core.costs.Costs",
        "core.costs.CostRange",
        "core.decision.Regret",
        "core.hinges.HingeBasis",
        "core.moments.ClassMoments",
        "core.noise_posterior.RatePosterior",
        "core.rates.NoiseRate",
        "core.noise_posterior.PrevalencePrior",
        "core.trees.Tree",
        "core.trees.TreeSum",
        "tables.reader.ColumnReader",
        "paper.forward.ForwardLogisticClassifier",
        "paper.kliep.KLIEPClassifier",
        "paper.logistic.LinkClassifier",
        "paper.logistic.UnbiasedLogisticClassifier",
        "paper.logistic.WeightedLogisticClassifier",
        "paper.lspc.LSPClassifier",
        "paper.resampling.CostResamplingClassifier",
        "estimators._threshold.NoiseAwareThresholdClassifier",
        "estimators._uneven_margin.UnevenMarginClassifier",
        "estimators._uneven_margin_cv.UnevenMarginClassifierCV",
        "estimators.flipcost.classifier.FlipCostClassifier",
        "tables.encoder.Column",
        "tables.encoder.Encoder",
        "estimators.flipcost.options.FitOptions",
        "estimators.flipcost.result.FitResult",
        "estimators.flipcost.result.ScoreCurves",
        "estimators.flipcost.sample.TableSample",
        "estimators.flipcost.scores.EstimatorScores",
        "estimators.flipcost.scores.RidgeScores",
        "estimators.flipcost.scores.PooledScores",
    )
)
# Where types lay when older files were written, and where they are now.
MOVED = {
    f"flipcost.estimators.flipcost.fit.{name}": f"flipcost.estimators.flipcost.{home}.{name}"
    for name, home in (
        ("FitOptions", "options"),
        ("FitResult", "result"),
        ("ScoreCurves", "result"),
    )
}
TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
SKLEARN = frozenset(
    [PREDICTOR]
    + [
        f"sklearn.{name}"
        for name in (
            "_loss.link.HalfLogitLink",
            "_loss.link.IdentityLink",
            "_loss.link.Interval",
            "_loss.link.LogitLink",
            "_loss.link.MultinomialLogit",
            "_loss.loss.ExponentialLoss",
            "_loss.loss.HalfBinomialLoss",
            "_loss.loss.HalfMultinomialLoss",
            "_loss.loss.HalfSquaredError",
            "calibration.CalibratedClassifierCV",
            "calibration._CalibratedClassifier",
            "calibration._SigmoidCalibration",
            "compose._column_transformer.ColumnTransformer",
            "dummy.DummyClassifier",
            "ensemble._forest.ExtraTreesClassifier",
            "ensemble._forest.RandomForestClassifier",
            "ensemble._gb.GradientBoostingClassifier",
            "ensemble._hist_gradient_boosting.binning._BinMapper",
            "ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
            "feature_selection._variance_threshold.VarianceThreshold",
            "impute._base.MissingIndicator",
            "impute._base.SimpleImputer",
            "isotonic.IsotonicRegression",
            "linear_model._logistic.LogisticRegression",
            "linear_model._logistic.LogisticRegressionCV",
            "linear_model._ridge.RidgeClassifier",
            "model_selection._split.KFold",
            "model_selection._split.StratifiedKFold",
            "naive_bayes.GaussianNB",
            "pipeline.FeatureUnion",
            "pipeline.Pipeline",
            "preprocessing._data.MaxAbsScaler",
            "preprocessing._data.MinMaxScaler",
            "preprocessing._data.PowerTransformer",
            "preprocessing._data.QuantileTransformer",
            "preprocessing._data.RobustScaler",
            "preprocessing._data.StandardScaler",
            "preprocessing._encoders.OneHotEncoder",
            "preprocessing._encoders.OrdinalEncoder",
            "preprocessing._function_transformer.FunctionTransformer",
            "preprocessing._label.LabelBinarizer",
            "preprocessing._label.LabelEncoder",
            "tree._classes.DecisionTreeClassifier",
            "tree._classes.DecisionTreeRegressor",
            "tree._classes.ExtraTreeClassifier",
            "tree._classes.ExtraTreeRegressor",
        )
    ]
)
# The compiled halves of losses; with Cython's older manner of naming modules, too.
LOSSES = frozenset(
    f"{module}.Cy{name}"
    for module in ("sklearn._loss._loss", "_loss")
    for name in ("ExponentialLoss", "HalfBinomialLoss", "HalfMultinomialLoss", "HalfSquaredError")
)
# Checks that boosting with categories calls on its numbers, and that call nothing else.
FUNCTIONS = frozenset(["sklearn.utils.validation.check_array"])
# Types that are kept as types: of the keys of dictionaries, of cells.
PLAIN = frozenset(
    [f"builtins.{name}" for name in ("bool", "float", "int", "object", "str")]
    + [
        f"numpy.{name}"
        for name in (
            *("bool", "bool_", "float16", "float32", "float64", "intc", "int8", "int16", "int32"),
            *("int64", "longlong", "object_", "str_", "uint8", "uint16", "uint32", "uint64"),
            "ulonglong",
        )
    ]
)
GENERATORS = frozenset(["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])


def trusted_names(trusted: Iterable[str | type]) -> frozenset[str]:
    """Return the dotted names of types that a caller trusts."""
    if isinstance(trusted, str | type):
        trusted = [trusted]
    return frozenset(
        name if isinstance(name, str) else f"{name.__module__}.{name.__qualname__}"
        for name in trusted
    )


def resolve(name: str) -> Any:
    """Return what a dotted name stands for; to be called with names of the lists above only."""
    module, _, attribute = name.rpartition(".")
    if module == "_loss":
        module = "sklearn._loss._loss"
    return getattr(importlib.import_module(module), attribute)
