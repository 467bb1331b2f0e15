"""The one table of estimators that must pass scikit-learn's checks, in several configurations."""

from flipcost import (
    CostResamplingClassifier,
    Costs,
    FlipCostClassifier,
    ForwardLogisticClassifier,
    KLIEPClassifier,
    LinkClassifier,
    LSPClassifier,
    NoiseAwareThresholdClassifier,
    UnbiasedLogisticClassifier,
    UnevenMarginClassifier,
    UnevenMarginClassifierCV,
    WeightedLogisticClassifier,
)

INSTANCES = [
    KLIEPClassifier(),
    KLIEPClassifier("avg_s", cv=3),
    KLIEPClassifier("pos", widths=1.0, centers=None),
    LSPClassifier(),
    LSPClassifier(cv=3, basis="full"),
    LSPClassifier(widths=1.0, l2s=0.1),
    FlipCostClassifier(),
    FlipCostClassifier(noise_rate="minimax", features="linear"),
    FlipCostClassifier(noise_model="class_conditional", cv=3),
    UnevenMarginClassifier(),
    UnevenMarginClassifier(margin=2.0, l2=0.01, l2_scale="sum", penalize_bias=False),
    UnevenMarginClassifier(noise_rate=0.05),
    UnevenMarginClassifier(noise_rate=(0.1, 0.02)),
    UnevenMarginClassifierCV(),
    UnevenMarginClassifierCV(margins=[0.5, 1.0], scoring="am", cv=3),
    UnevenMarginClassifierCV(margins=[1.0, 2.0], l2s=0.1, scoring="cost", cv=2),
    UnevenMarginClassifierCV(noise_rates=0.02, scoring="f", l2_scale="sum", penalize_bias=False),
    LinkClassifier(),
    LinkClassifier("squared"),
    LinkClassifier("modified_squared", l2=0.01),
    LinkClassifier("exponential", l2=0.01),
    UnbiasedLogisticClassifier(),
    UnbiasedLogisticClassifier(noise_rate=0.1),
    WeightedLogisticClassifier(),
    WeightedLogisticClassifier(target="accuracy", noise_rate=0.1),
    ForwardLogisticClassifier(),
    ForwardLogisticClassifier(noise_rate=0.1),
    NoiseAwareThresholdClassifier(),
    NoiseAwareThresholdClassifier(noise_rate=0.1, calibrate="sigmoid", cv=2),
    CostResamplingClassifier(margins=(1.0, 1.001), cv=2),
    CostResamplingClassifier(mode="weight", margin=1.0),
]

# With a cost other than one half the likelier class is not the cheaper one, and scikit-learn's
# check that `predict` is the class of the larger probability does not apply (its own
# FixedThresholdClassifier is exempt from it too). All others do.
UNEVEN_COSTS = [
    FlipCostClassifier(cost=0.3),
    UnevenMarginClassifier(cost=0.3),
    UnevenMarginClassifier(cost=Costs(fn=2, fp=1), noise_rate=0.05),
    UnevenMarginClassifierCV(costs=[0.4, 0.6], scoring="am", cv=3),
    UnevenMarginClassifierCV(costs=0.4, scoring="cost"),
    UnbiasedLogisticClassifier(cost=0.4, noise_rate=(0.05, 0.1)),
    WeightedLogisticClassifier(target="am"),
    ForwardLogisticClassifier(cost=0.4, noise_rate=(0.05, 0.1)),
    NoiseAwareThresholdClassifier(cost=0.4, noise_rate=0.05),
    CostResamplingClassifier(cost=0.4, mode="weight", margin=1.0, noise_rate=0.05),
]
LIKELIEST_CLASS_CHECKS = {"check_classifiers_train"}
