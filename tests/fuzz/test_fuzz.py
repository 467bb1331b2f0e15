"""Some of the cases that ``make fuzz`` runs for longer, and all inputs that ever did harm."""

import shutil
from pathlib import Path

import pytest

from tests.fuzz.cases import (
    CASES,
    audit_checked,
    audit_file,
    judge_by,
    load_model,
    load_moments,
    predict_file,
    recheck_by,
    run_case,
)

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*-*"))
# Options that a table of the corpus is audited with.
OPTIONS = {"audit-weights.csv": ["--sample-weight", "w", "--drop-unusable"]}
# How many cases of each kind: audits take longest.
NUMBERS = {
    "csv": 20,
    "parquet": 20,
    "predict": 80,
    "options": 24,
    "model": 90,
    "moments": 160,
    "numbers": 60,
    "answers": 40,
    "checked": 20,
    "pool": 40,
    "judge": 40,
    "export": 20,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CASES)
def test_nothing_that_is_made_up_does_harm(kind, tmp_path):
    """No fault, no impossible number, nothing left behind, nothing done by loading."""
    found = set()
    for seed in range(NUMBERS[kind]):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found.add(run_case(kind, seed, folder))
        shutil.rmtree(folder)
    assert found == {"taken", "refused"}  # a fuzzer whose inputs are all refused finds little


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_once_did_harm_does_none(path, tmp_path):
    """Each file is named for what it is used as."""
    kind = path.name.partition("-")[0]
    place = tmp_path / path.name
    shutil.copy(path, place)
    if kind == "audit":
        found = audit_file(place, tmp_path, OPTIONS.get(path.name, ["--drop-unusable"]))
    else:
        used = {
            "predict": predict_file,
            "model": load_model,
            "moments": load_moments,
            "checked": recheck_by,
            "learned": audit_checked,
            "pool": lambda place, folder: recheck_by(None, folder, place.read_bytes()),
            "judge": judge_by,
        }
        found = used[kind](place, tmp_path)
    assert found in ("taken", "refused")
