"""Models as data: what is saved, and SQL, ONNX and JavaScript that are written from it."""

from flipcost.model.file import load, save
from flipcost.model.formula import Formula

__all__ = ["Formula", "load", "save"]
