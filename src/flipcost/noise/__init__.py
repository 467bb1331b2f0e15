"""Label noise: flipping labels on purpose."""

from flipcost.noise._flip import flip_labels

__all__ = ["flip_labels"]
