"""Draw the agreement with the paper's tables that the guide shows.

``flipcost reproduce --out reproduction && python -m tools.agreement reproduction/summary.csv``
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from flipcost.paper.experiments.pages import agreement_svg

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "agreement.svg"

if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as file:
        PICTURE.write_text(agreement_svg(list(csv.DictReader(file))), encoding="utf-8")
