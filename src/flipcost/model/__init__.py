"""Models as data: saved as JSON, and written as SQL, ONNX and JavaScript."""

from flipcost.model.file import load, save
from flipcost.model.formula import Formula

__all__ = ["Formula", "load", "save"]
