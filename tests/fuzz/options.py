"""Options that no one should give, from a seed."""

NUMBERS = [
    "0", "1", "-1", "5", "0.5", "1e-300", "1e300", "1e12", "1e-12", "nan", "inf", "-inf", "1e400",
    "", "x", "0x10", "1,000", "4294967295", "4294967296", "18446744073709551616", "9" * 30,
    "٣", "1_0",
]  # fmt: skip
RATES = ["0", "0.2", "0.49", "0.5", "-0.1", "1", "nan", "0.3,0.1", "0.6,0.39", "0.3,", ",",
         "0.1,0.2,0.3", "1e-320", "0.9,0.05", "0.5,0.5", "inf,0"]  # fmt: skip
NAMES = ["key", "age", "dose", "town", "seen", "w", "again", "checked", "ill", "nothing", "",
         "`ill`", "'ill'", "\x1b[2J", "ILL", "a" * 4000, "--target"]  # fmt: skip
PRICES = [
    *NUMBERS, "w", "5*w+1", "w/0", "w-w", "3..8", "8..3", "0..1", "..", "1..", "key*2", "ill",
    "w**9", "(" * 500 + "w" + ")" * 500, "__import__('os')", "w.x", "1e308*w*1e308", "nothing",
    "-w", "w;w",
]  # fmt: skip
POOLS = {
    "--target": NAMES,
    "--cost-fn": PRICES,
    "--cost-fp": PRICES,
    "--positive": ["yes", "no", "Yes", "", "1", "x" * 4000],
    "--noise-rate": RATES,
    "--trusted": NAMES,
    "--second-label": NAMES,
    "--noise-model": ["auto", "symmetric", "missed_positives", "wrong_negatives",
                      "class_conditional", "other", ""],
    "--drop": NAMES,
    "--categorical": NAMES,
    "--id": NAMES,
    "--sample-weight": NAMES,
    "--test": ["TABLE", "nothing.csv", ".", "/dev/null", ""],
    "--model": ["linear", "linear", "auto", "nothing.json", "TABLE", "MODEL", ""],
    "--delimiter": [",", ";", "", ",,", "\n", '"', "a", "é"],
    "--encoding": ["utf-8", "latin-1", "utf-16", "ascii", "nothing", "", "rot13", "idna", "hex"],
    "--max-rows": ["100", "99", "0", "-5", "1e3", "99999999999999999999", "x"],
    "--memory-share": ["0", "0.25", "1", "-1", "nan", "inf", "1e300"],
    "--seed": NUMBERS,
    "--max-bytes": NUMBERS,
    "--example": ["pima", "nothing", ""],
    "--group": NAMES,
    "--time": NAMES,
    "--by": NAMES,
    "--capacity": ["5", "10%", "0", "-1", "101%", "1e9", "nan%", "x", "", "Lyon=5",
                   "Lyon=5,Nice=9%", "=", ",", "Lyon=", "nowhere=3", "9" * 400],
    "--capacity-by": NAMES,
    "--cost-check": NUMBERS,
    "--checked": ["TABLE", "MODEL", "nothing.csv", "/dev/null", ".", ""],
    "--table": ["x", ""],
}  # fmt: skip
FLAGS = ["--drop-unusable", "--strict", "--json", "--overwrite", "--help", "--version"]


def option_list(rng):
    """Return options of `flipcost audit`; TABLE and MODEL stand for files."""
    given = {
        "--target": "ill",
        "--cost-fn": "5",
        "--cost-fp": "1",
        "--model": "linear",
        "--drop": "key",
    }
    for _ in range(int(rng.integers(1, 3))):
        name = str(rng.choice(list(POOLS)))
        given[name] = str(rng.choice(POOLS[name]))
    if rng.random() < 0.1:
        del given[str(rng.choice(list(given)))]
    args = [part for pair in given.items() for part in pair]
    if rng.random() < 0.3:
        args.append(str(rng.choice(FLAGS)))
    if rng.random() < 0.05:
        args.append(str(rng.choice(["extra", "--nothing", "-", "--", "\x1b[2J"])))
    return args
