"""Models as data: saved as JSON, and written as SQL, ONNX and JavaScript."""

from flipcost.model.formula import Formula
from flipcost.model.storage import load, save

__all__ = ["Formula", "load", "save"]
