"""Every estimator passes scikit-learn's own checks, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from tests.estimators.instances import INSTANCES, LIKELIEST_CLASS_CHECKS, UNEVEN_COSTS

# One of each class in every run, the other configurations in the slow one.
FIRST = list({type(estimator): estimator for estimator in reversed(INSTANCES)}.values())
OTHERS = [estimator for estimator in INSTANCES if not any(estimator is one for one in FIRST)]


@parametrize_with_checks(FIRST)
def test_scikit_learn_checks(estimator, check):
    """The estimator keeps scikit-learn's contract."""
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_scikit_learn_checks_in_other_configurations(estimator, check):
    """So does it with other parameters."""
    check(estimator)


def _applicable_checks():
    for estimator in UNEVEN_COSTS:
        for instance, check in estimator_checks_generator(estimator, mark=None):
            name = getattr(check, "func", check).__name__
            if name not in LIKELIEST_CLASS_CHECKS:
                yield pytest.param(instance, check, id=f"{estimator}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(_applicable_checks()))
def test_scikit_learn_checks_at_uneven_costs(estimator, check):
    """The estimator keeps the contract, but calls the cheaper class, not the likelier."""
    check(estimator)
