"""What further information would be worth having."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Information:
    """What further information would be worth.

    Attributes
    ----------
    second_labels : int
        Rows to have labelled again, independently, to know the rate within `precision`.
    trusted_labels : int
        Rows to have labelled by someone who does not err, for the same.
    precision : float
        Half the width of the interval that these give.
    value_of_rate : float
        What a row would cost less if the rate were known exactly.
    wrong_labels : float
        Expected number of wrong labels in the table.
    wrong_in_first_100 : float
        Expected number of wrong labels among the hundred most suspicious.
    """

    second_labels: int
    trusted_labels: int
    precision: float
    value_of_rate: float
    wrong_labels: float
    wrong_in_first_100: float
