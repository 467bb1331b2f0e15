"""A model as an ONNX graph gives what the model gives, in onnxruntime."""

import numpy as np
import pyarrow as pa
import pytest

import flipcost as fc
from flipcost.exceptions import ExportError
from flipcost.export import to_onnx, to_sql
from flipcost.model.convert import formula_of
from flipcost.tables.encoder import Column

onnxruntime = pytest.importorskip("onnxruntime")


def feeds(model, table):
    """Return the columns of a table as inputs: what a service would send."""
    formula, found = formula_of(model), {}
    for column in (formula.columns[k] for k in formula.used):
        if column.kind == "category":
            texts = ["" if value is None else value for value in table[column.name].to_pylist()]
            found[column.name] = np.array(texts, dtype=object)[:, None]
        else:
            reader = Column(column.name, column.kind, column.format)
            found[column.name] = reader.read(table[column.name].combine_chunks())[:, :1]
    if formula.decides_by_costs:
        found |= {name: np.array(table[name])[:, None] for name in formula.cost_columns}
    return found


def run(graph, inputs):
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def test_onnxruntime_gives_the_same_probabilities_and_decisions(model, fresh, expected_of):
    """To 1e-9, missing and unseen values included."""
    probability, flagged, prediction = run(to_onnx(model), feeds(model, fresh))
    expected, labels = expected_of(model, fresh)
    np.testing.assert_allclose(probability, expected, rtol=0, atol=1e-9)
    assert flagged.tolist() == (labels == formula_of(model).pos_label).tolist()
    assert prediction.tolist() == labels.tolist()


@pytest.mark.parametrize("name", ["", "prediction", "fc_1"])
def test_columns_called_as_parts_of_the_graph_are_refused(name):
    """In one sentence, before the checker of graphs does; SQL has trouble with no name only."""
    X = pa.table({name: np.arange(9.0), "b": np.arange(9.0) % 4})
    model = fc.UnevenMarginClassifier(0.3).fit(X, np.arange(9) > 4)
    with pytest.raises(ExportError, match=f"called '{name}' cannot be the input of a graph"):
        to_onnx(model)
    if not name:
        with pytest.raises(ExportError, match="without a name cannot be written as SQL"):
            to_sql(model)
