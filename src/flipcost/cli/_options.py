"""What the library says of its parameters, said in options of the command line."""

from __future__ import annotations

import ast
import re
import shlex

# One rule for all commands that read tables.
MAX_BYTES = (
    "Refuse a file that unpacks to more bytes; if not given, to over 100 times its size and over "
    "256 MB."
)

# Options that are not called as the parameter is; in all others blanks become dashes.
_OTHER = {"fn": "--cost-fn", "fp": "--cost-fp", "groups": "--group"}
_SAME = {
    "by", "capacity", "capacity_by",
    "categorical", "checked", "cost_check", "delimiter", "dialect", "drop", "drop_unusable",
    "encoding", "group", "id", "jobs", "learn_prices", "max_bytes", "max_rows", "model",
    "noise_model", "noise_rate", "out", "overwrite", "positive", "prevalence", "resume",
    "sample_weight", "second_label", "seed", "target", "test",
    "time", "trials", "trusted",
}  # fmt: skip
OPTIONS = {name: "--" + name.replace("_", "-") for name in _SAME} | _OTHER


def in_options(message: str) -> str:
    """Return a message of the library with options in place of the parameters it names.

    Examples
    --------
    >>> in_options("`positive` must be one of 'no', 'yes'.")
    "--positive must be one of 'no', 'yes'."
    >>> in_options("Columns 'a', 'b' are empty; `drop=['a', 'b']`, or `drop_unusable=True`.")
    "Columns 'a', 'b' are empty; --drop a --drop b, or --drop-unusable."
    """
    return re.sub(r"`(\w+)(?:=([^`]+))?`", _option, message)


def _option(found: re.Match[str]) -> str:
    name, written = found.groups()
    if name not in OPTIONS:
        return found[0]
    try:
        value = True if written is None else ast.literal_eval(written)
    except (SyntaxError, ValueError):  # a backtick within a name
        return found[0]
    if value is True:
        return OPTIONS[name]
    values = value if isinstance(value, list | tuple) else [value]
    return " ".join(f"{OPTIONS[name]} {shlex.quote(str(one))}" for one in values)
