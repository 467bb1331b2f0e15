"""Settings that all tests share."""

import gc

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

# Garbage is looked for after this many new objects, in place of 700: little of it is large.
gc.set_threshold(10_000)


def pytest_collection_finish():
    """Have garbage looked for in what tests make: modules and tests stay to the end."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """Let go of them at the end: some libraries count what is left of them."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter):
    """Say whether the report was looked at in a browser, and if not, why not."""
    of_browser = {
        kind: [r for r in terminalreporter.getreports(kind) if "test_browser" in r.nodeid]
        for kind in ("passed", "failed", "skipped")
    }
    run = len(of_browser["passed"]) + len(of_browser["failed"])
    skipped = [r for r in of_browser["skipped"] if "axe" not in r.nodeid]
    if run and not skipped:
        terminalreporter.write_line(f"Browser tests: {run} run in chromium.")
    elif skipped:
        reason = str(skipped[0].longrepr[2]).removeprefix("Skipped: ")
        terminalreporter.write_line(f"Browser tests: {len(skipped)} SKIPPED, since {reason}.")
