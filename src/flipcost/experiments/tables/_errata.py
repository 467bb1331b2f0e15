"""What is known to be wrong with the printed figures, and which cells it touches.

Numbers of errata are those of the guide's chapter on the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flipcost.experiments.tables._results import Row


WORDS = {
    "E1": "The closed form with the stated cost and noisy labels is not robust to symmetric noise, "
    "whatever Theorem 1 says. At 40 % of noise it calls every row positive. The printed columns "
    "are those of cost 1/2, the one cost at which it is robust.",
    "E10": "The normalised KLIEP estimators as printed are one half for exact ratios. The figures "
    "fit the complement forms, which are used here. The figures of the scaled negative estimator "
    "are those of scaling the probability of the negative class by its maximum, not those of "
    "dividing its complement, as printed.",
    "E11": "Accuracy as printed counts mistakes, the Brier score has labels -1 and 1, and the "
    "divergence divides by the wrong number of rows. The figures fit the corrected definitions.",
    "E12": "The covariance printed for Syn10D has a negative eigenvalue. With variance and "
    "covariance exchanged the figures of the linear methods come out.",
    "E13": "German accuracy: the columns of MUB and S-W0-1 are exchanged (compared with their "
    "source). Breast Cancer AM of S-W0-1 is .652 and .545 in the source. The second rate of "
    "Thyroid AM is 0.2.",
    "E14": "Impossible as printed: standard deviations of .88, .72 and .61 of measures between 0 "
    "and 1; a mean absolute deviation above the root mean squared error; squares that do not "
    "match their roots; a row shifted by a cell.",
    "E15": "The printed set of margins is not the one that the constant weighted costs come from; "
    "that one starts at cost / (1 - cost) + 0.001 and never holds margin 1.",
    "E16": "The weighted cost as printed divides the price of a false alarm by the tuned margin: "
    "figures of different margins are not comparable, and tuning by it prefers large margins. "
    "The user's own cost is that at margin 1, column WC1.",
    "E17": "At 40 % of noise most printed F figures equal those of calling every row positive.",
    "E18": "F and weighted cost cannot be tuned on noisy labels unless they are denoised.",
    "E20": "The weighted cost and F printed for all-positive calls on Breast Cancer fit the file "
    "of 277 rows with its duplicates (40 negatives in the test part), not the 263 rows stated.",
    "E22": "The algorithm does not say whether the margin is scored on untouched or under-sampled "
    "folds. The printed accuracies fit untouched ones.",
}

_SYN10D_SHIFTED = ("kliep_pos_s", "kliep_neg_s", "kliep_norm_s", "kliep_cnorm_s", "kliep_avg_s")
_IMPOSSIBLE = {
    ("eta_syn3D_KLIEP_45678", "kliep_pos_s", "MAD"),
    ("eta_syn3D_KLIEP_45678", "kliep_pos_s", "RMSE"),
    ("eta_syn10D_cls_LSPC", "lkfun_msq", "RMSE"),
    ("eta_syn2D_KLIEP_45678", "kliep_cnorm_s", "MSE"),
    ("eta_syn3D_KLIEP_45678", "kliep_norm_s", "MSE"),
    *(("eta_syn10D_KLIEP_45678", method, "MSE") for method in _SYN10D_SHIFTED),
}


def is_impossible(cell: Row) -> bool:
    """Tell whether a printed cell cannot be right, whatever was run.

    Examples
    --------
    >>> is_impossible({"table": "Re-lg-ERM-Bupa", "method": "lkfun_log", "measure": "Acc",
    ...                "mean": 0.88, "std": 0.88})
    True
    """
    if (cell["table"], cell["method"], cell["measure"]) in _IMPOSSIBLE:
        return True
    if cell["measure"] not in ("Acc", "AM", "F"):
        return False
    # Ten values between 0 and 1 with this mean are spread most when each is 0 or 1.
    return cell["std"] ** 2 > cell["mean"] * (1 - cell["mean"]) * 10 / 9


def errata_of(cell: Row) -> list[str]:
    """Return the numbers of the errata that say that a printed cell is not what it says it is.

    Examples
    --------
    >>> errata_of({"table": "Ac_measure_cost", "dataset": "german", "rho": 0.2, "method": "mub_log",
    ...            "measure": "Acc", "mean": 0.66, "std": float("nan")})
    ['E13']
    """
    found = []
    if cell["method"] == "usq_regerm" and cell["rho"] > 0:
        found.append("E1")
    if cell["method"] in ("mub_log", "sw01_log") and (
        (cell["dataset"] == "german" and cell["measure"] == "Acc")
        or (cell["dataset"], cell["measure"], cell["method"]) == ("breast_cancer", "AM", "sw01_log")
    ):
        found.append("E13")
    if is_impossible(cell):
        found.append("E14")
    if cell["dataset"] == "breast_cancer" and cell["measure"] in ("F", "WC"):
        found.append("E20")
    return found
