"""Models where the data is: SQL for an engine, ONNX for a service, JSON for a page or a phone.

All are written from what `flipcost.save` writes too, the numbers that a fitted model consists of,
and give the probability that `predict_proba` gives and the decision of `predict`.
"""

from flipcost.model.javascript import scorer_source, to_json
from flipcost.model.onnx import to_onnx
from flipcost.model.sql import to_sql

__all__ = ["scorer_source", "to_json", "to_onnx", "to_sql"]
