"""A model as an ONNX graph gives what the model gives, in onnxruntime."""

import numpy as np
import pytest

from flipcost.export import read_model, to_onnx
from flipcost.tables.reader import ColumnReader

onnxruntime = pytest.importorskip("onnxruntime")


def feeds(model, table):
    """Return the columns of a table as inputs: what a service would send."""
    found = {}
    for column in read_model(model).columns:
        if column.kind == "category":
            texts = ["" if value is None else value for value in table[column.name].to_pylist()]
            found[column.name] = np.array(texts, dtype=object)[:, None]
        else:
            reader = ColumnReader([column.name]).fit(table)
            found[column.name] = reader.transform(table)[:, :1]
    return found


def run(graph, inputs):
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def test_onnxruntime_gives_the_same_probabilities_and_decisions(model, fresh, expected_of):
    """To 1e-9, missing and unseen values included."""
    probability, called, prediction = run(to_onnx(model), feeds(model, fresh))
    expected, labels = expected_of(model, fresh)
    np.testing.assert_allclose(probability, expected, rtol=0, atol=1e-9)
    assert called.tolist() == (labels == model[-1].pos_label).tolist()
    assert prediction.tolist() == labels.tolist()
