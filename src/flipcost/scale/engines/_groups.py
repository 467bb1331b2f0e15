"""The layers that all questions begin with: features, label code, weight, fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flipcost.core.folds import PRIME
from flipcost.core.hinges import HingeBasis
from flipcost.scale.engines._expression import Expression, column, literal, number, pick
from flipcost.scale.engines._reading import Layer, Reading, hashed, modulus

# Folds and subsets must not be made by the same hash.
SUBSET_SEED = 1_000_003


@dataclass(frozen=True)
class Subset:
    """Rows of each label, by code, whose second hash lies below a share of its range."""

    shares: tuple[float, float]

    def condition(self) -> Expression:
        """Return which rows are in it."""
        limits = [literal(int(share * PRIME)) for share in self.shares]
        return pick(column("y"), limits).above(column("s"))


@dataclass(frozen=True)
class Rows:
    """Rows of a table as features ``x0``, ``x1``, ..., code ``y``, weight ``w`` and fold ``f``.

    Parameters
    ----------
    reading : Reading
        How the columns are read.
    labels : tuple
        The two labels, or fewer.
    n_folds : int
        Number of folds.
    basis : HingeBasis, optional
        Adds hinges to the features.
    subset : Subset, optional
        Only these rows.
    carried : tuple of str
        Columns of the source to keep as they are.
    """

    reading: Reading
    labels: tuple[Any, ...]
    n_folds: int = 1
    basis: HingeBasis | None = None
    subset: Subset | None = None
    carried: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of features, with hinges."""
        return len(self.reading.features) if self.basis is None else self.basis.n_columns

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.reading.weight is not None

    def layers(self) -> list[Layer]:
        """Return the layers; the last one has ``x``, ``y``, ``f``, and ``w`` if there are any."""
        reading = self.reading
        first = {f"x{j}": feature for j, feature in enumerate(reading.features)}
        first |= {name: column(name) for name in self.carried}
        first["y"] = reading.label_code(self.labels)
        if reading.weight is not None:
            first["w"] = reading.weight
        found: list[Layer] = [first]
        hashes = self.n_folds > 1 and reading.rule == "hash"
        if hashes or self.subset is not None or self.n_folds > 1:
            first["k"] = reading.key
        if self.subset is not None:
            found += hashed(found[-1], "k", "s", reading.layout.fold_seed + SUBSET_SEED)
        if hashes:
            found += hashed(found[-1], "k", "h", reading.layout.fold_seed)
        found.append(self._last(found[-1], hashes=hashes))
        return found

    def _last(self, before: Layer, *, hashes: bool) -> Layer:
        last = {name: column(name) for name in before if name not in ("h", "k")}
        fold = literal(0)
        if self.n_folds > 1:
            fold = modulus(column("k"), self.n_folds)
            if hashes:
                fold = column("h") % literal(self.n_folds)
        last["f"] = fold
        if self.basis is not None:
            d = self.basis.n_features
            places = zip(self.basis.feature.tolist(), self.basis.knot.tolist(), strict=True)
            for k, (j, knot) in enumerate(places):
                last[f"x{d + k}"] = (column(f"x{j}") - number(knot)).at_least(number(0.0))
        return last
