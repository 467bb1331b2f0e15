"""A model that was made before, in the comparison."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.exceptions import ExportError, TableError
from flipcost.model.convert import formula_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._rows import Audited


def saved_calls(rows: Audited, model: Any) -> Callable[..., NDArray[np.bool_]]:
    """Return what tells which rows of a table a saved model calls positive, at its own prices."""
    negative, positive = rows.labels
    classes = [str(label) for label in model.classes_]
    if positive not in classes:
        msg = (
            f"The saved model tells {classes} apart, not {positive!r} and {negative!r}; give a "
            "model of the same labels."
        )
        raise TableError(msg)
    rows.warnings.append(
        "The saved model is judged on all rows; if it was trained on some of them, it looks better "
        "than it is."
    )
    with suppress(ExportError):  # ours: as data it makes its own costs of the columns of rows
        model = formula_of(model)

    def predict(table: Any, _: Any = None) -> NDArray[np.bool_]:
        return np.array([str(label) == positive for label in model.predict(table)])

    return predict
