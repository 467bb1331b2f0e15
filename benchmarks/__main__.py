"""Run all benchmarks, or those named: ``python -m benchmarks [NAME ...]``."""

from __future__ import annotations

import argparse
import importlib

NAMES = (
    "closed_form",
    "fit",
    "audit",
    "growth",
    "busy",
    "kernel_estimators",
    "eta_quality",
    "noise_tax",
    "coverage",
    "limits",
    "systematic",
    "dependence",
    "ordinary",
    "real_noise",
    "leaks",
    "recheck",
    "judge",
    "crowds",
    "decisions",
    "scale",
    "sensitivity",
    "predict",
    "engines",
)


def main() -> None:
    """Run the benchmarks named on the command line, all of them when none is."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(NAMES)}")
    names = parser.parse_args().names or NAMES
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    for name in names:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
