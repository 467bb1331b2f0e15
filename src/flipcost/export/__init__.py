"""Models where the data is: SQL for an engine, ONNX for a service, JSON for a page or a phone.

All are written from one `Formula`, the few numbers that a model consists of once it is fitted, and
give the probability that `predict_proba` gives.
"""

from flipcost.export._formula import Formula
from flipcost.export._json import scorer_source, to_json
from flipcost.export._onnx import to_onnx
from flipcost.export._read_model import read_model
from flipcost.export._sql import to_sql

__all__ = ["Formula", "read_model", "scorer_source", "to_json", "to_onnx", "to_sql"]
