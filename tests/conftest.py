"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

# The same examples in every run: a failure is a change of the code, not of the draw. No deadline:
# the machine may be busy.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
