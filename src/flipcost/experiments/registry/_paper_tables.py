"""The paper's 23 tables of figures: what each is about and which experiment makes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table of the paper.

    Parameters
    ----------
    name : str
        Its label in the paper.
    kind : str
        The kind of units that make it.
    title : str
        What it shows.
    digit : float
        The last printed digit of most of its figures.
    """

    name: str
    kind: str
    title: str
    digit: float


_TABLES = (
    ("Ac_measure_cost", "noisy", "Accuracy on four UCI sets", 0.01),
    ("AM_measure_cost", "noisy", "AM on four UCI sets", 0.01),
    ("F_measure_cost", "noisy", "F measure on four UCI sets", 0.01),
    ("WC_measure_cost", "noisy", "Weighted cost on four UCI sets", 0.01),
    ("Re-lg-ERM-Bupa", "noisy", "Bupa, scheme 2 with logistic loss", 0.01),
    ("Re-sq-ERM-Bupa", "noisy", "Bupa, scheme 2 with squared loss", 0.01),
    ("syn_cost_bayes", "noisy", "Syn3D-imbalanced: the Bayes rule", 0.01),
    ("syn_cost_AC_AM", "noisy", "Syn3D-imbalanced: accuracy and AM", 0.01),
    ("syn_cost_F_WC", "noisy", "Syn3D-imbalanced: F and weighted cost", 0.01),
    ("cost_clean_acc_case1", "case1", "Imbalance only: accuracy of three approaches", 0.001),
    ("cost_clean_AM_case1", "case1", "Imbalance only: AM of three approaches", 0.001),
    ("cost_clean_F_case1", "case1", "Imbalance only: F of three approaches", 0.001),
    ("cost_clean_all_case2_BUPA", "case2", "Cost only: Bupa, margin tuned and fixed", 0.001),
    ("cost_clean_all_case3_syn2", "case3", "Cost and imbalance: Syn-dataset2", 0.001),
    ("eta_syn2D_cls_LSPC", "eta", "Probabilities on Syn2D: links, LSPC, neighbours", 0.001),
    ("eta_syn2D_KLIEP_123", "eta", "Probabilities on Syn2D: KLIEP", 0.001),
    ("eta_syn2D_KLIEP_45678", "eta", "Probabilities on Syn2D: scaled KLIEP", 0.001),
    ("eta_syn3D_cls_LSPC", "eta", "Probabilities on Syn3D: links, LSPC, neighbours", 0.001),
    ("eta_syn3D_KLIEP_123", "eta", "Probabilities on Syn3D: KLIEP", 0.001),
    ("eta_syn3D_KLIEP_45678", "eta", "Probabilities on Syn3D: scaled KLIEP", 0.001),
    ("eta_syn10D_cls_LSPC", "eta", "Probabilities on Syn10D: links, LSPC, neighbours", 0.001),
    ("eta_syn10D_KLIEP_123", "eta", "Probabilities on Syn10D: KLIEP", 0.001),
    ("eta_syn10D_KLIEP_45678", "eta", "Probabilities on Syn10D: scaled KLIEP", 0.001),
)
TABLES = {row[0]: Table(*row) for row in _TABLES}
