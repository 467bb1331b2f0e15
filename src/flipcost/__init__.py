"""Cost-sensitive binary classification from labels that are partly wrong."""

from flipcost._version import __version__

__all__ = ["__version__"]
