"""Turning the categories of the two categorical tables into numbers.

Breast Cancer. Binned attributes become the lower end of their bin (years, millimetres, nodes), an
affine function of the rank as the bins have equal width; yes/no and left/right become 1/0 and 0/1;
``menopause`` is ordered by how early it set in. ``breast_quad`` has no order: it gets the number
of the quadrant in the order of the original documentation, which keeps the nine features of the
published comparisons but means little to a linear model. Use the raw categories with a one-hot
encoder where that matters.

German Credit. A code is the letter A, the number of the attribute and the number of the category
(``A34``: attribute 3, category 4). The 20-number coding takes the integer after the letter.
"""

from __future__ import annotations

BREAST_CATEGORIES: dict[str, tuple[str, ...]] = {
    "age": tuple(f"{low}-{low + 9}" for low in range(10, 100, 10)),
    "menopause": ("premeno", "ge40", "lt40"),
    "tumor_size": tuple(f"{low}-{low + 4}" for low in range(0, 60, 5)),
    # The last bin is four wide in the original documentation; it does not occur in the data.
    "inv_nodes": (*(f"{low}-{low + 2}" for low in range(0, 36, 3)), "36-39"),
    "node_caps": ("no", "yes"),
    "deg_malig": ("1", "2", "3"),
    "breast": ("left", "right"),
    "breast_quad": ("left_up", "left_low", "right_up", "right_low", "central"),
    "irradiat": ("no", "yes"),
}
BREAST_ORDERED = frozenset({"age", "menopause", "tumor_size", "inv_nodes", "deg_malig"})
_BINNED = frozenset({"age", "tumor_size", "inv_nodes"})
_FROM_ONE = frozenset({"deg_malig", "breast_quad"})


def breast_number(feature: str, category: str) -> float:
    """Return the number that stands for a category of the Breast Cancer table.

    Examples
    --------
    >>> breast_number("age", "40-49"), breast_number("breast_quad", "central")
    (40.0, 5.0)
    """
    rank = BREAST_CATEGORIES[feature].index(category)
    if feature in _BINNED:
        return float(category.partition("-")[0])
    return float(rank + 1 if feature in _FROM_ONE else rank)


def german_number(cell: str) -> float:
    """Return the number that stands for a cell of the German Credit table.

    Examples
    --------
    >>> german_number("A34"), german_number("A410"), german_number("24")
    (34.0, 410.0, 24.0)
    """
    return float(cell.removeprefix("A"))


# Meanings as documented by the donor; see the note on Groemping (2019) in the description.
GERMAN_CODES: dict[str, dict[str, str]] = {
    "checking_status": {
        "A11": "below 0 DM",
        "A12": "0 to below 200 DM",
        "A13": "200 DM or more, or salary assigned for at least a year",
        "A14": "no checking account",
    },
    "credit_history": {
        "A30": "no credits taken, or all paid back duly",
        "A31": "all credits at this bank paid back duly",
        "A32": "existing credits paid back duly till now",
        "A33": "delay in the past",
        "A34": "critical account, or other credits elsewhere",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture or equipment",
        "A43": "radio or television",
        "A44": "domestic appliances",
        "A45": "repairs",
        "A46": "education",
        "A47": "vacation",
        "A48": "retraining",
        "A49": "business",
        "A410": "others",
    },
    "savings": {
        "A61": "below 100 DM",
        "A62": "100 to below 500 DM",
        "A63": "500 to below 1000 DM",
        "A64": "1000 DM or more",
        "A65": "unknown or none",
    },
    "employment": {
        "A71": "unemployed",
        "A72": "below 1 year",
        "A73": "1 to below 4 years",
        "A74": "4 to below 7 years",
        "A75": "7 years or more",
    },
    "personal_status": {
        "A91": "male, divorced or separated",
        "A92": "female, divorced, separated or married",
        "A93": "male, single",
        "A94": "male, married or widowed",
        "A95": "female, single",
    },
    "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "property": {
        "A121": "real estate",
        "A122": "savings agreement or life insurance",
        "A123": "car or other",
        "A124": "unknown or none",
    },
    "other_instalment_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "free"},
    "job": {
        "A171": "unemployed, or unskilled and not resident",
        "A172": "unskilled, resident",
        "A173": "skilled employee or official",
        "A174": "management, self-employed, highly qualified, officer",
    },
    "telephone": {"A191": "none", "A192": "registered under the customer's name"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
}
