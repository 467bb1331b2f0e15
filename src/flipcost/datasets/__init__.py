"""Data: the five public tables of the paper's experiments, its synthetic laws and its figures.

Everything is bundled; nothing is downloaded. Loaders return scikit-learn's ``Bunch`` with targets
+1 and -1. Synthetic draws come with the exact probability of the positive class at every row.
"""

from flipcost.datasets._bundled import (
    list_datasets,
    load_breast_cancer_ljubljana,
    load_bupa,
    load_german_credit,
    load_paper_tables,
    load_pima,
    load_thyroid,
)
from flipcost.datasets.gaussian import (
    GaussianLaw,
    make_syn1,
    make_syn2,
    make_syn2d,
    make_syn3d,
    make_syn3d_imbalanced,
    make_syn10d,
)

__all__ = [
    "GaussianLaw",
    "list_datasets",
    "load_breast_cancer_ljubljana",
    "load_bupa",
    "load_german_credit",
    "load_paper_tables",
    "load_pima",
    "load_thyroid",
    "make_syn1",
    "make_syn2",
    "make_syn2d",
    "make_syn3d",
    "make_syn3d_imbalanced",
    "make_syn10d",
]
