"""A model as JSON gives what the model gives, in Node.js."""

import datetime as dt
import json
import shutil
import subprocess

import numpy as np
import pytest

from flipcost.export import scorer_source, to_json
from flipcost.model.convert import formula_of

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
SCRIPT = """
const { score } = require("./scorer.js");
const model = JSON.parse(require("fs").readFileSync("model.json", "utf8"));
const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(rows.map((row) => score(model, row))));
"""


def run(text, rows, folder):
    (folder / "scorer.js").write_text(scorer_source(), encoding="utf-8")
    (folder / "model.json").write_text(text, encoding="utf-8")
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    found = subprocess.run(
        [NODE, "-e", SCRIPT], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert not found.stderr, found.stderr
    return json.loads(found.stdout)


def plain(value):
    if isinstance(value, dt.date):
        return value.isoformat()
    return None if value != value else value


def test_node_gives_the_same_probabilities_and_decisions(model, fresh, expected_of, tmp_path):
    """To 1e-9, missing and unseen values included."""
    rows = [{k: plain(v) for k, v in row.items()} for row in fresh.to_pylist()]
    found = run(to_json(model), rows, tmp_path)
    probability, labels = expected_of(model, fresh)
    np.testing.assert_allclose(
        [row["probability_positive"] for row in found], probability, rtol=0, atol=1e-9
    )
    assert [row["prediction"] for row in found] == labels.tolist()
    assert [row["flagged"] for row in found] == (labels == formula_of(model).pos_label).tolist()
